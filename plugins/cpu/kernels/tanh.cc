// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Tanh {
  template <class T>
  T operator()(T x) const {
    return tanh(x);
  }
};

extern const dg_kernel_t dg_kernel_tanh = unary<Tanh, Group::floats>(DG_OP_TANH);

}  // namespace dougong::cpu
