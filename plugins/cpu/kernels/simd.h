// Folds of a row, in lanes that the compiler turns into vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
