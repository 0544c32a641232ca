// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

extern const dg_kernel_t dg_kernel_min = kernel(DG_OP_MIN, any_layout, best_launch<Least, dg_min_attributes_t>);

}  // namespace dougong::cpu
