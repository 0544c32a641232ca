// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LogicalNot {
  template <class T>
  bool operator()(T x) const {
    return x == T(0);
  }
};

extern const dg_kernel_t dg_kernel_logical_not = unary<LogicalNot, Group::all, Predicate>(DG_OP_LOGICAL_NOT);

}  // namespace dougong::cpu
