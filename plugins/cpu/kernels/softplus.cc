// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Softplus {
  double beta, threshold;
  explicit Softplus(const dg_softplus_attributes_t &a) : beta(a.beta), threshold(a.threshold) {}
  template <class T>
  T operator()(T x) const {
    T scaled = x * T(beta);
    return scaled > T(threshold) ? x : log1p(exp(scaled)) / T(beta);
  }
};

extern const dg_kernel_t dg_kernel_softplus = unary_with<Softplus, dg_softplus_attributes_t>(DG_OP_SOFTPLUS);

}  // namespace dougong::cpu
