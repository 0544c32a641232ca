// SPDX-License-Identifier: Apache-2.0
#include "uniform.h"

namespace dougong::cpu {

extern const dg_kernel_t dg_kernel_uniform =
    kernel(DG_OP_UNIFORM, any_layout, random_launch<Uniform, dg_uniform_attributes_t>);

}  // namespace dougong::cpu
