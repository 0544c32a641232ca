// SPDX-License-Identifier: Apache-2.0
#include "scalar.h"
#include "strided.h"

namespace dougong::cpu {

static dg_status_t full_launch(const dg_kernel_call_t *call) {
  fill_tensor(*call->outputs[0], attributes<dg_full_attributes_t>(call).value);
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_full = kernel(DG_OP_FULL, any_layout, full_launch);

}  // namespace dougong::cpu
