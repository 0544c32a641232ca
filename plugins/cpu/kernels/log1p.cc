// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Log1p {
  template <class T>
  T operator()(T x) const {
    return std::log1p(x);
  }
};

extern const dg_kernel_t dg_kernel_log1p = unary<Log1p, Group::floats>(DG_OP_LOG1P);

}  // namespace dougong::cpu
