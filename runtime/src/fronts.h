// What callers may write though kernels do not know it: vectors in matmul, argmax over everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dispatch.h"

namespace dougong {

// call_op for callers: prepares the arguments of the ops that are marked `front` in kernels/ops, then calls.
Outputs call_front(const OpDef &op, Arg *inputs, int input_count, const void *attributes, const Tensor *out = nullptr);

}  // namespace dougong
