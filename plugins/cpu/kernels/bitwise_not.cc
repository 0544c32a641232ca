// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct BitwiseNot {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return T(~x);
  }
};

extern const dg_kernel_t dg_kernel_bitwise_not = unary<BitwiseNot, Group::bits>(DG_OP_BITWISE_NOT);

}  // namespace dougong::cpu
