// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct GeluBackward {
  template <class T>
  T operator()(T dy, T x) const {
    return dy * (normal_cdf(x) + x * normal_pdf(x));
  }
};

extern const dg_kernel_t dg_kernel_gelu_backward = binary<GeluBackward, Group::floats>(DG_OP_GELU_BACKWARD);

}  // namespace dougong::cpu
