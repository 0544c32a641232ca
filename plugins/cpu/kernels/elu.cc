// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Elu {
  double alpha;
  explicit Elu(const dg_elu_attributes_t &a) : alpha(a.alpha) {}
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x : T(alpha) * expm1(x);
  }
};

extern const dg_kernel_t dg_kernel_elu = unary_with<Elu, dg_elu_attributes_t>(DG_OP_ELU);

}  // namespace dougong::cpu
