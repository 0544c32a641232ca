// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Acosh {
  template <class T>
  T operator()(T x) const {
    return std::acosh(x);
  }
};

extern const dg_kernel_t dg_kernel_acosh = unary<Acosh, Group::floats>(DG_OP_ACOSH);

}  // namespace dougong::cpu
