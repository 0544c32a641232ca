// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Atan {
  template <class T>
  T operator()(T x) const {
    return std::atan(x);
  }
};

extern const dg_kernel_t dg_kernel_atan = unary<Atan, Group::floats>(DG_OP_ATAN);

}  // namespace dougong::cpu
