// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Silu {
  template <class T>
  T operator()(T x) const {
    return x * sigmoid(x);
  }
};

extern const dg_kernel_t dg_kernel_silu = unary<Silu, Group::floats>(DG_OP_SILU);

}  // namespace dougong::cpu
