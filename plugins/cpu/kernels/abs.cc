// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Abs {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return x < T(0) ? T(0 - Wrapping<T>(x)) : x;
  }
};

extern const dg_kernel_t dg_kernel_abs = unary<Abs, Group::numbers>(DG_OP_ABS);

}  // namespace dougong::cpu
