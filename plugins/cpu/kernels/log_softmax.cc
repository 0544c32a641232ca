// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

namespace dougong::cpu {

template <class C>
struct LogSoftmaxOf {
  static constexpr bool scales_exps = false;
  C greatest, log_sum;
  explicit LogSoftmaxOf(const RowStatistics<C> &row) : greatest(row.greatest), log_sum(C(std::log(row.sum))) {}
  C operator()(C x) const { return (x - greatest) - log_sum; }
};

extern const dg_kernel_t dg_kernel_log_softmax =
    kernel(DG_OP_LOG_SOFTMAX, any_layout_in_place, guarded<softmax_launch<LogSoftmaxOf, dg_log_softmax_attributes_t>>);

}  // namespace dougong::cpu
