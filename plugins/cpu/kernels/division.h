// Division with a remainder, of integers without traps: by zero gives 0, and the least integer by -1 wraps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "../dtype.h"

namespace dougong::cpu {

// The remainder with the sign of a.
template <class T>
inline T truncated_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    bool whole = b == T(0) || (std::is_signed_v<T> && b == T(-1));
    return whole ? T(0) : T(a % b);
  }
}

// The remainder with the sign of b; a zero has it, too.
template <class T>
inline T remainder(T a, T b) {
  T left = truncated_remainder(a, b);
  if (left != T(0)) return (left < T(0)) != (b < T(0)) ? T(left + b) : left;
  if constexpr (std::is_floating_point_v<T>) return std::copysign(T(0), b);
  return left;
}

template <class T>
inline T floor_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return T(0 - Wrapping<T>(a));
  }
  T quotient = T(a / b);
  return (a % b != 0) && ((a < T(0)) != (b < T(0))) ? T(quotient - 1) : quotient;
}
// From the remainder, which is exact: the quotient of what is left is next to an integer.
inline double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  double left = truncated_remainder(a, b), quotient = (a - left) / b;
  if (left != 0 && (left < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double below = std::floor(quotient);
  return quotient - below > 0.5 ? below + 1 : below;
}

}  // namespace dougong::cpu
