// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct LogSigmoid {
  template <class T>
  T operator()(T x) const {
    return (x < T(0) ? x : x == x ? T(0) : x) - log1p(exp(-std::fabs(x)));
  }
};

extern const dg_kernel_t dg_kernel_log_sigmoid = unary<LogSigmoid, Group::floats>(DG_OP_LOG_SIGMOID);

}  // namespace dougong::cpu
