// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct LogicalXor {
  template <class T>
  bool operator()(T a, T b) const {
    return (a != T(0)) != (b != T(0));
  }
};

extern const dg_kernel_t dg_kernel_logical_xor = comparison<LogicalXor>(DG_OP_LOGICAL_XOR);

}  // namespace dougong::cpu
