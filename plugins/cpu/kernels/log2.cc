// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Log2 {
  template <class T>
  T operator()(T x) const {
    return std::log2(x);
  }
};

extern const dg_kernel_t dg_kernel_log2 = unary<Log2, Group::floats>(DG_OP_LOG2);

}  // namespace dougong::cpu
