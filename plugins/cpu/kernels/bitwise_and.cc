// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct BitwiseAnd {
  template <class T>
  T operator()(T a, T b) const {
    return T(a & b);
  }
};

extern const dg_kernel_t dg_kernel_bitwise_and = binary<BitwiseAnd, Group::bits>(DG_OP_BITWISE_AND);

}  // namespace dougong::cpu
