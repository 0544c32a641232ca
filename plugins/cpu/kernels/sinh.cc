// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Sinh {
  template <class T>
  T operator()(T x) const {
    return std::sinh(x);
  }
};

extern const dg_kernel_t dg_kernel_sinh = unary<Sinh, Group::floats>(DG_OP_SINH);

}  // namespace dougong::cpu
