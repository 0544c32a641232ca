// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Rsqrt {
  template <class T>
  T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};

extern const dg_kernel_t dg_kernel_rsqrt = unary<Rsqrt, Group::floats>(DG_OP_RSQRT);

}  // namespace dougong::cpu
