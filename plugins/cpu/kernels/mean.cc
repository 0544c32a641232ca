// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

static dg_status_t mean_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_mean_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  return with_float(r.dtype, [&](auto type) {
    using T = decltype(type);
    reduce<T>(r, SumOp<Compute<T>>(), [&](double sum) { return rounded<T>(sum / double(r.count)); });
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_mean = kernel(DG_OP_MEAN, any_layout, mean_launch);

}  // namespace dougong::cpu
