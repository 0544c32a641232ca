// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Cos {
  template <class T>
  T operator()(T x) const {
    return std::cos(x);
  }
};

extern const dg_kernel_t dg_kernel_cos = unary<Cos, Group::floats>(DG_OP_COS);

}  // namespace dougong::cpu
