// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Log10 {
  template <class T>
  T operator()(T x) const {
    return std::log10(x);
  }
};

extern const dg_kernel_t dg_kernel_log10 = unary<Log10, Group::floats>(DG_OP_LOG10);

}  // namespace dougong::cpu
