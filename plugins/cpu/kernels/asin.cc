// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Asin {
  template <class T>
  T operator()(T x) const {
    return std::asin(x);
  }
};

extern const dg_kernel_t dg_kernel_asin = unary<Asin, Group::floats>(DG_OP_ASIN);

}  // namespace dougong::cpu
