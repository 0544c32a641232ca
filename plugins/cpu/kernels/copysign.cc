// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Copysign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(a, b);
  }
};

extern const dg_kernel_t dg_kernel_copysign = binary<Copysign, Group::floats>(DG_OP_COPYSIGN);

}  // namespace dougong::cpu
