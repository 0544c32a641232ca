// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

extern const dg_kernel_t dg_kernel_max = kernel(DG_OP_MAX, any_layout, best_launch<Greatest, dg_max_attributes_t>);

}  // namespace dougong::cpu
