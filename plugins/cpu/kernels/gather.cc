// SPDX-License-Identifier: Apache-2.0
#include "indices.h"

namespace dougong::cpu {

static dg_status_t gather_launch(const dg_kernel_call_t *call) {
  const dg_tensor_t &x = *call->inputs[0], &y = *call->outputs[0];
  int32_t axis = int32_t(attributes<dg_gather_attributes_t>(call).axis);
  Indices index(*call->inputs[1]);
  dg_status_t status = index.normalise(x.ndim > 0 ? x.shape[axis] : 1, "gather");
  if (status != DG_STATUS_OK) return status;
  int64_t size = item_size(x);
  bool is_bool = x.dtype == DG_DTYPE_BOOL;
  IndexedNest(y, x, axis).each(address(y), address(x), index.data, [&](char *to, const char *from) {
    move_item(to, from, size, is_bool);
  });
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_gather = kernel(DG_OP_GATHER, any_layout, guarded<gather_launch>);

}  // namespace dougong::cpu
