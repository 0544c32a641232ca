// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct BitwiseOr {
  template <class T>
  T operator()(T a, T b) const {
    return T(a | b);
  }
};

extern const dg_kernel_t dg_kernel_bitwise_or = binary<BitwiseOr, Group::bits>(DG_OP_BITWISE_OR);

}  // namespace dougong::cpu
