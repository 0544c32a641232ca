// SPDX-License-Identifier: Apache-2.0
#include "arg_best.h"

namespace dougong::cpu {

extern const dg_kernel_t dg_kernel_argmax =
    kernel(DG_OP_ARGMAX, any_layout, arg_best_launch<Greatest, dg_argmax_attributes_t>);

}  // namespace dougong::cpu
