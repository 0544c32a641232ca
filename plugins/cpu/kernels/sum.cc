// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

static dg_status_t sum_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_sum_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  if (r.dtype == I64) {
    reduce<int64_t>(r, SumOp<int64_t>(), [](uint64_t sum) { return int64_t(sum); });
    return DG_STATUS_OK;
  }
  return with_float(r.dtype, [&](auto type) {
    using T = decltype(type);
    reduce<T>(r, SumOp<Compute<T>>(), rounded<T>);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_sum = kernel(DG_OP_SUM, any_layout, sum_launch);

}  // namespace dougong::cpu
