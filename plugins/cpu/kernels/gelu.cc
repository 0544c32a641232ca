// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Gelu {
  template <class T>
  T operator()(T x) const {
    return x * normal_cdf(x);
  }
};

extern const dg_kernel_t dg_kernel_gelu = unary<Gelu, Group::floats>(DG_OP_GELU);

}  // namespace dougong::cpu
