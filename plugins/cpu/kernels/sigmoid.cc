// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Sigmoid {
  template <class T>
  T operator()(T x) const {
    return sigmoid(x);
  }
};

extern const dg_kernel_t dg_kernel_sigmoid = unary<Sigmoid, Group::floats>(DG_OP_SIGMOID);

}  // namespace dougong::cpu
