// Folds of a row, in lanes that the compiler turns into vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <limits>

#include "../dtype.h"

namespace dougong::cpu {

// Accumulators of sums: float64 for floats, modulo 2^64 for integers.
template <class C>
using Sum = std::conditional_t<std::is_floating_point_v<C>, double, uint64_t>;

// combine(combine(item(0), item(64)), ...) for each of 64 lanes, then the lanes in pairs: the order depends on `count`
// alone. `identity` for no items.
template <class State, class Item, class Combine>
inline State fold(int64_t count, State identity, const Item &item, const Combine &combine) {
  constexpr int64_t width = 64;
  alignas(64) State lanes[width];
  int64_t used = count < width ? count : width;
  for (int64_t j = 0; j < used; ++j) lanes[j] = item(j);
  int64_t first = width;
  for (; first + width <= count; first += width) {
    for (int64_t j = 0; j < width; ++j) lanes[j] = combine(lanes[j], item(first + j));
  }
  for (int64_t j = 0; first + j < count; ++j) lanes[j] = combine(lanes[j], item(first + j));
  for (int64_t half = width / 2; half > 0; half /= 2) {
    int64_t pairs = used - half < half ? used - half : half;
    for (int64_t j = 0; j < pairs; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
    used = used < half ? used : half;
  }
  return count > 0 ? lanes[0] : identity;
}

// The sum of f(x[i]) over a row.
template <class C, class F>
inline Sum<C> sum_row(const C *x, int64_t count, const F &f) {
  return fold(
      count, Sum<C>(0), [&](int64_t i) { return Sum<C>(f(Sum<C>(x[i]))); }, [](Sum<C> a, Sum<C> b) { return a + b; });
}
template <class C>
inline Sum<C> sum_row(const C *x, int64_t count) {
  return sum_row(x, count, [](Sum<C> item) { return item; });
}

// Sums of float32 in vectors: eight items a lane are added in float32, which costs at most their rounding, and those in
// float64. `item(v, i)` is what to add of the vector that begins at i.
using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
using HalfFloats = float __attribute__((vector_size(32)));

inline Floats read_floats(const float *x) {
  Floats v;
  std::memcpy(&v, x, sizeof v);
  return v;
}

template <class Item, class Single>
inline double sum_floats(int64_t count, const Item &item, const Single &single) {
  constexpr int64_t width = 16, depth = 8;
  Doubles low = {}, high = {};
  int64_t first = 0;
  for (; first + width * depth <= count; first += width * depth) {
    Floats a = item(first), b = item(first + width);
    for (int64_t k = 2; k < depth; k += 2) a += item(first + k * width), b += item(first + (k + 1) * width);
    a += b;
    HalfFloats parts[2];
    std::memcpy(parts, &a, sizeof a);
    low += __builtin_convertvector(parts[0], Doubles);
    high += __builtin_convertvector(parts[1], Doubles);
  }
  low += high;
  double total = ((low[0] + low[4]) + (low[2] + low[6])) + ((low[1] + low[5]) + (low[3] + low[7]));
  for (; first < count; ++first) total += double(single(first));
  return total;
}
inline double sum_row(const float *x, int64_t count) {
  return sum_floats(count, [=](int64_t i) { return read_floats(x + i); }, [=](int64_t i) { return x[i]; });
}
// The sum of squared distances from centre = high + low.
inline double sum_of_squares(const float *x, int64_t count, double centre) {
  const float high = float(centre), low = float(centre - double(high));
  return sum_floats(
      count,
      [=](int64_t i) {
        const Floats distance = (read_floats(x + i) - high) - low;
        return distance * distance;
      },
      [=](int64_t i) {
        const float distance = (x[i] - high) - low;
        return distance * distance;
      });
}
inline double sum_of_squares(const double *x, int64_t count, double centre) {
  return sum_row(x, count, [centre](double item) { return (item - centre) * (item - centre); });
}

// The sum of x[i] * y[i] in float64.
template <class C>
inline double dot_row(const C *x, const C *y, int64_t count) {
  return fold(
      count, 0.0, [&](int64_t i) { return double(x[i]) * double(y[i]); }, [](double a, double b) { return a + b; });
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
};

// The best element of a row; NaN if there is one.
template <class Order, class C>
inline C best_of_row(const C *x, int64_t count) {
  return fold(
      count, Order::template identity<C>(), [&](int64_t i) { return x[i]; },
      [](C a, C b) { return Order::better(a, b) ? a : b; });
}

}  // namespace dougong::cpu
