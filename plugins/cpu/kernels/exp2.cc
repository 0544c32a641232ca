// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Exp2 {
  template <class T>
  T operator()(T x) const {
    return std::exp2(x);
  }
};

extern const dg_kernel_t dg_kernel_exp2 = unary<Exp2, Group::floats>(DG_OP_EXP2);

}  // namespace dougong::cpu
