// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Erfc {
  template <class T>
  T operator()(T x) const {
    return std::erfc(x);
  }
};

extern const dg_kernel_t dg_kernel_erfc = unary<Erfc, Group::floats>(DG_OP_ERFC);

}  // namespace dougong::cpu
