// SPDX-License-Identifier: Apache-2.0
#include "division.h"
#include "elementwise.h"

namespace dougong::cpu {

struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    return remainder(a, b);
  }
};

extern const dg_kernel_t dg_kernel_remainder = binary<Remainder, Group::numbers>(DG_OP_REMAINDER);

}  // namespace dougong::cpu
