// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

namespace dougong::cpu {

template <class C>
struct LogSoftmaxGradient {
  C total;
  static double sum(const C *dy, const C *, int64_t count) { return sum_row(dy, count); }
  C operator()(C dy, C y) const { return dy - exp(y) * total; }
};

extern const dg_kernel_t dg_kernel_log_softmax_backward =
    kernel(DG_OP_LOG_SOFTMAX_BACKWARD, any_layout_in_place,
           guarded<softmax_backward_launch<LogSoftmaxGradient, dg_log_softmax_backward_attributes_t>>);

}  // namespace dougong::cpu
