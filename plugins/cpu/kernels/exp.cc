// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Exp {
  template <class T>
  T operator()(T x) const {
    return exp(x);
  }
};

extern const dg_kernel_t dg_kernel_exp = unary<Exp, Group::floats>(DG_OP_EXP);

}  // namespace dougong::cpu
