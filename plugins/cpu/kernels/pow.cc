// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

// Exact modulo 2^n. A negative exponent gives the inverse, which is an integer for the bases 1 and -1 only; else 0.
template <class T>
static T integer_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == T(1)) return T(1);
    return base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  }
  Wrapping<T> result = 1, factor = Wrapping<T>(base);
  for (auto e = std::make_unsigned_t<T>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return T(result);
}

struct Pow {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return integer_power(a, b);
    else
      return std::pow(a, b);
  }
};

extern const dg_kernel_t dg_kernel_pow = binary<Pow, Group::numbers>(DG_OP_POW);

}  // namespace dougong::cpu
