// SPDX-License-Identifier: Apache-2.0
#include "arg_best.h"

namespace dougong::cpu {

extern const dg_kernel_t dg_kernel_argmin =
    kernel(DG_OP_ARGMIN, any_layout, arg_best_launch<Least, dg_argmin_attributes_t>);

}  // namespace dougong::cpu
