// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Cosh {
  template <class T>
  T operator()(T x) const {
    return std::cosh(x);
  }
};

extern const dg_kernel_t dg_kernel_cosh = unary<Cosh, Group::floats>(DG_OP_COSH);

}  // namespace dougong::cpu
