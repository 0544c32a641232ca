// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Acos {
  template <class T>
  T operator()(T x) const {
    return std::acos(x);
  }
};

extern const dg_kernel_t dg_kernel_acos = unary<Acos, Group::floats>(DG_OP_ACOS);

}  // namespace dougong::cpu
