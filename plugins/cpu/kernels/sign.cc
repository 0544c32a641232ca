// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Sign {
  template <class T>
  T operator()(T x) const {
    int direction = (x > T(0)) - (x < T(0));
    return x == x ? T(direction) : x;
  }
};

extern const dg_kernel_t dg_kernel_sign = unary<Sign, Group::numbers>(DG_OP_SIGN);

}  // namespace dougong::cpu
