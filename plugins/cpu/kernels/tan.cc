// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Tan {
  template <class T>
  T operator()(T x) const {
    return std::tan(x);
  }
};

extern const dg_kernel_t dg_kernel_tan = unary<Tan, Group::floats>(DG_OP_TAN);

}  // namespace dougong::cpu
