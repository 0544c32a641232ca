// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Sin {
  template <class T>
  T operator()(T x) const {
    return std::sin(x);
  }
};

extern const dg_kernel_t dg_kernel_sin = unary<Sin, Group::floats>(DG_OP_SIN);

}  // namespace dougong::cpu
