// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Celu {
  double alpha;
  explicit Celu(const dg_celu_attributes_t &a) : alpha(a.alpha) {}
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x : T(alpha) * expm1(x / T(alpha));
  }
};

extern const dg_kernel_t dg_kernel_celu = unary_with<Celu, dg_celu_attributes_t>(DG_OP_CELU);

}  // namespace dougong::cpu
