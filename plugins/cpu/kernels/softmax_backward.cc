// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

namespace dougong::cpu {

template <class C>
struct SoftmaxGradient {
  C dot;
  static double sum(const C *dy, const C *y, int64_t count) { return dot_row(dy, y, count); }
  C operator()(C dy, C y) const { return y * (dy - dot); }
};

extern const dg_kernel_t dg_kernel_softmax_backward =
    kernel(DG_OP_SOFTMAX_BACKWARD, any_layout_in_place,
           guarded<softmax_backward_launch<SoftmaxGradient, dg_softmax_backward_attributes_t>>);

}  // namespace dougong::cpu
