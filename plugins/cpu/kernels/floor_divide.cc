// SPDX-License-Identifier: Apache-2.0
#include "division.h"
#include "elementwise.h"

namespace dougong::cpu {

struct FloorDivide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return floor_divide(a, b);
    else
      return T(floor_divide(double(a), double(b)));
  }
};

extern const dg_kernel_t dg_kernel_floor_divide = binary<FloorDivide, Group::numbers>(DG_OP_FLOOR_DIVIDE);

}  // namespace dougong::cpu
