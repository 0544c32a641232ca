// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LeakyRelu {
  double negative_slope;
  explicit LeakyRelu(const dg_leaky_relu_attributes_t &a) : negative_slope(a.negative_slope) {}
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x : x * T(negative_slope);
  }
};

extern const dg_kernel_t dg_kernel_leaky_relu = unary_with<LeakyRelu, dg_leaky_relu_attributes_t>(DG_OP_LEAKY_RELU);

}  // namespace dougong::cpu
