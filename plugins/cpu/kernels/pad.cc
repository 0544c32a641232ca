// SPDX-License-Identifier: Apache-2.0
#include "strided.h"
#include "window.h"

namespace dougong::cpu {

static dg_status_t pad_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_pad_attributes_t>(call);
  const dg_tensor_t &x = *call->inputs[0], &y = *call->outputs[0];
  Window from(x), to(y);
  bool grows = false, empty = false;
  for (int32_t axis = 0; axis < x.ndim; ++axis) {
    int64_t before = a.padding[2 * axis], after = a.padding[2 * axis + 1];
    int64_t kept = x.shape[axis] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    grows |= before > 0 || after > 0;
    empty |= kept <= 0;
    from.narrow(axis, before < 0 ? -before : 0, kept);
    to.narrow(axis, before > 0 ? before : 0, kept);
  }
  if (grows || empty) fill_tensor(y, a.value);
  if (!empty) copy_tensor(to.tensor, from.tensor);
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_pad = kernel(DG_OP_PAD, any_layout, pad_launch);

}  // namespace dougong::cpu
