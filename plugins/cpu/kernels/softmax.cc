// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

namespace dougong::cpu {

template <class C>
struct SoftmaxOf {
  static constexpr bool scales_exps = true;
  C greatest, scale;
  explicit SoftmaxOf(const RowStatistics<C> &row) : greatest(row.greatest), scale(C(1.0 / row.sum)) {}
  C operator()(C x) const { return exp(x - greatest) * scale; }
};

extern const dg_kernel_t dg_kernel_softmax =
    kernel(DG_OP_SOFTMAX, any_layout_in_place, guarded<softmax_launch<SoftmaxOf, dg_softmax_attributes_t>>);

}  // namespace dougong::cpu
