// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Floor {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::floor(x);
  }
};

extern const dg_kernel_t dg_kernel_floor = unary<Floor, Group::numbers>(DG_OP_FLOOR);

}  // namespace dougong::cpu
