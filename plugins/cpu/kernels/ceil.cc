// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Ceil {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::ceil(x);
  }
};

extern const dg_kernel_t dg_kernel_ceil = unary<Ceil, Group::numbers>(DG_OP_CEIL);

}  // namespace dougong::cpu
