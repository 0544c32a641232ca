// The second half of a call: finding who computes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"

namespace dougong {

// Computes a call whose inputs, attributes and outputs are final, by the first step of the ladder that can. Nothing is
// done if all outputs are empty. An output that is no alias may be another tensor afterwards. Throws what the kernel
// reported.
void climb(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device);

// Step 3 alone: the outputs from other ops, with the dtypes of the op and in memory that no input shares. Recorded by
// autograd if it is on.
Outputs decompose(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Device &device);

// Whether this thread takes step 3 before step 1, so that decompositions can be checked on a device that has kernels.
bool decompositions_first();
void set_decompositions_first(bool first);

}  // namespace dougong
