// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LogicalAnd {
  template <class T>
  bool operator()(T a, T b) const {
    return a != T(0) && b != T(0);
  }
};

extern const dg_kernel_t dg_kernel_logical_and = comparison<LogicalAnd>(DG_OP_LOGICAL_AND);

}  // namespace dougong::cpu
