// All kernels; the table is generated from the names of the files in kernels/.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_kernel.h>

namespace dougong::cpu {

extern const dg_kernel_t *const kernel_table[];
extern const size_t kernel_count;

}  // namespace dougong::cpu
