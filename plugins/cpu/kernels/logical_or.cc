// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LogicalOr {
  template <class T>
  bool operator()(T a, T b) const {
    return a != T(0) || b != T(0);
  }
};

extern const dg_kernel_t dg_kernel_logical_or = comparison<LogicalOr>(DG_OP_LOGICAL_OR);

}  // namespace dougong::cpu
