// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct RightShift {
  template <class T>
  T operator()(T a, T b) const {
    constexpr uint32_t bits = sizeof(T) * 8;
    T sign = a < T(0) ? T(-1) : T(0);
    bool inside = uint64_t(b) < bits;
    return inside ? T(a >> (inside ? b : T(0))) : sign;
  }
};

extern const dg_kernel_t dg_kernel_right_shift = binary<RightShift, Group::integers>(DG_OP_RIGHT_SHIFT);

}  // namespace dougong::cpu
