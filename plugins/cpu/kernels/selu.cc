// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Selu {
  template <class T>
  T operator()(T x) const {
    constexpr double scale = 1.0507009873554804934, alpha = 1.6732632423543772848;
    return x > T(0) ? T(scale) * x : T(scale * alpha) * expm1(x);
  }
};

extern const dg_kernel_t dg_kernel_selu = unary<Selu, Group::floats>(DG_OP_SELU);

}  // namespace dougong::cpu
