// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LeftShift {
  template <class T>
  T operator()(T a, T b) const {
    constexpr uint32_t bits = sizeof(T) * 8;
    bool inside = uint64_t(b) < bits;
    return inside ? T(Wrapping<T>(a) << (inside ? b : T(0))) : T(0);
  }
};

extern const dg_kernel_t dg_kernel_left_shift = binary<LeftShift, Group::integers>(DG_OP_LEFT_SHIFT);

}  // namespace dougong::cpu
