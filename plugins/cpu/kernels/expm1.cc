// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Expm1 {
  template <class T>
  T operator()(T x) const {
    return std::expm1(x);
  }
};

extern const dg_kernel_t dg_kernel_expm1 = unary<Expm1, Group::floats>(DG_OP_EXPM1);

}  // namespace dougong::cpu
