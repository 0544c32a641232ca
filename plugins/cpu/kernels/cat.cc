// SPDX-License-Identifier: Apache-2.0
#include "strided.h"
#include "window.h"

namespace dougong::cpu {

static dg_status_t cat_launch(const dg_kernel_call_t *call) {
  int32_t axis = int32_t(attributes<dg_cat_attributes_t>(call).axis);
  int64_t start = 0;
  for (int32_t i = 0; i < call->input_count; ++i) {
    const dg_tensor_t &x = *call->inputs[i];
    if (x.shape[axis] == 0) continue;
    Window part(*call->outputs[0]);
    part.narrow(axis, start, x.shape[axis]);
    copy_tensor(part.tensor, x);
    start += x.shape[axis];
  }
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_cat = kernel(DG_OP_CAT, any_layout, cat_launch);

}  // namespace dougong::cpu
