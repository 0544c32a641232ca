// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Erf {
  template <class T>
  T operator()(T x) const {
    return erf(x);
  }
};

extern const dg_kernel_t dg_kernel_erf = unary<Erf, Group::floats>(DG_OP_ERF);

}  // namespace dougong::cpu
