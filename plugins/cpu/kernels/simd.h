// Vectors of 64 bytes, in as many registers as the machine needs for them, and the folds of a row that use them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "../dtype.h"

namespace dougong::cpu {

template <class T, int count = 64 / int(sizeof(T))>
struct VectorOf {
  typedef T type __attribute__((vector_size(count * sizeof(T))));
};
template <class T, int count = 64 / int(sizeof(T))>
using Vector = typename VectorOf<T, count>::type;

template <class V, class T>
inline void load_vector(V &vector, const T *source) {
  static_assert(sizeof(V) % sizeof(T) == 0);
  std::memcpy(&vector, source, sizeof vector);
}

// Accumulators of sums: float64 for floats, modulo 2^64 for integers.
template <class C>
using Sum = std::conditional_t<std::is_floating_point_v<C>, double, uint64_t>;

// The sum of f(x[i]) over a row in 32 lanes; f takes a vector of 8 accumulators, or one.
template <class C, class F>
inline Sum<C> sum_row(const C *x, int64_t count, const F &f) {
  using Lane = Vector<Sum<C>, 8>;
  Lane lanes[4] = {};
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int j = 0; j < 4; ++j) {
      Vector<C, 8> part;
      load_vector(part, x + i + 8 * j);
      lanes[j] += f(__builtin_convertvector(part, Lane));
    }
  }
  Lane folded = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  Sum<C> total =
      ((folded[0] + folded[1]) + (folded[2] + folded[3])) + ((folded[4] + folded[5]) + (folded[6] + folded[7]));
  Sum<C> rest = 0;
  for (; i < count; ++i) rest += f(Sum<C>(x[i]));
  return total + rest;
}

// The sum of x[i] * y[i] in float64, in the same lanes.
template <class C>
inline double dot_row(const C *x, const C *y, int64_t count) {
  using Lane = Vector<double, 8>;
  Lane lanes[2] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int j = 0; j < 2; ++j) {
      Vector<C, 8> a, b;
      load_vector(a, x + i + 8 * j);
      load_vector(b, y + i + 8 * j);
      lanes[j] += __builtin_convertvector(a, Lane) * __builtin_convertvector(b, Lane);
    }
  }
  Lane folded = lanes[0] + lanes[1];
  double total =
      ((folded[0] + folded[1]) + (folded[2] + folded[3])) + ((folded[4] + folded[5]) + (folded[6] + folded[7]));
  for (; i < count; ++i) total += double(x[i]) * double(y[i]);
  return total;
}

struct Greatest {
  template <class T>
  static bool better(T x, T than) {
    return x > than || x != x;
  }
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  template <class V>
  static void take(V &best, const V &x) {
    best = ((x > best) | (x != x)) ? x : best;
  }
};
struct Least {
  template <class T>
  static bool better(T x, T than) {
    return x < than || x != x;
  }
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  template <class V>
  static void take(V &best, const V &x) {
    best = ((x < best) | (x != x)) ? x : best;
  }
};

// The best element of a row; NaN if there is one.
template <class Order, class C>
inline C best_of_row(const C *x, int64_t count) {
  constexpr int width = 64 / sizeof(C);
  C best = Order::template identity<C>();
  int64_t i = 0;
  if (count >= 4 * width) {
    Vector<C> lanes[4];
    for (int j = 0; j < 4; ++j) load_vector(lanes[j], x + j * width);
    for (i = 4 * width; i + 4 * width <= count; i += 4 * width) {
      for (int j = 0; j < 4; ++j) {
        Vector<C> part;
        load_vector(part, x + i + j * width);
        Order::take(lanes[j], part);
      }
    }
    for (int j = 1; j < 4; ++j) Order::take(lanes[0], lanes[j]);
    for (int j = 0; j < width; ++j) best = Order::better(C(lanes[0][j]), best) ? lanes[0][j] : best;
  }
  for (; i < count; ++i) best = Order::better(x[i], best) ? x[i] : best;
  return best;
}

}  // namespace dougong::cpu
