// The second half of a call: finding who computes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"

namespace dougong {

// Computes a call whose inputs, attributes and outputs are final, by the first step of the ladder that can. Nothing is
// done if all outputs are empty. Throws what the kernel reported.
void climb(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device);

}  // namespace dougong
