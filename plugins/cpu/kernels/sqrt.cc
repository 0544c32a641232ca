// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};

extern const dg_kernel_t dg_kernel_sqrt = unary<Sqrt, Group::floats>(DG_OP_SQRT);

}  // namespace dougong::cpu
