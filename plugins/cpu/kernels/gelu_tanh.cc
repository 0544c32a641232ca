// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct GeluTanh {
  template <class T>
  T operator()(T x) const {
    T u = x * (T(1.5957691216057308) + T(0.07135481627260025) * (x * x));
    return x * sigmoid(u);
  }
};

extern const dg_kernel_t dg_kernel_gelu_tanh = unary<GeluTanh, Group::floats>(DG_OP_GELU_TANH);

}  // namespace dougong::cpu
