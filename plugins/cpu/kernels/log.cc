// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Log {
  template <class T>
  T operator()(T x) const {
    return log(x);
  }
};

extern const dg_kernel_t dg_kernel_log = unary<Log, Group::floats>(DG_OP_LOG);

}  // namespace dougong::cpu
