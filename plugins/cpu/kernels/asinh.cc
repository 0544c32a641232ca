// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Asinh {
  template <class T>
  T operator()(T x) const {
    return std::asinh(x);
  }
};

extern const dg_kernel_t dg_kernel_asinh = unary<Asinh, Group::floats>(DG_OP_ASINH);

}  // namespace dougong::cpu
