// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Softsign {
  template <class T>
  T operator()(T x) const {
    return x / (T(1) + std::fabs(x));
  }
};

extern const dg_kernel_t dg_kernel_softsign = unary<Softsign, Group::floats>(DG_OP_SOFTSIGN);

}  // namespace dougong::cpu
