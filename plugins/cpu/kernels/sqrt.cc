// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include <cmath>

namespace dougong::cpu {

struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};

extern const dg_kernel_t dg_kernel_sqrt = unary<Sqrt, Group::floats>(DG_OP_SQRT);

}  // namespace dougong::cpu
