// Views: new descriptors over the same memory. They cost no kernel; autograd records how the gradient finds back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor.h"

namespace dougong {

// An axis counted from the end if negative. Throws OUT_OF_RANGE with the range that is legal.
int64_t normalize_axis(int64_t axis, int64_t ndim);

Tensor expand(const Tensor &tensor, const Shape &shape);
// A view where the strides allow it, else a dense copy. One size may be -1.
Tensor reshape(const Tensor &tensor, const Shape &shape);
// A view, or INVALID_ARGUMENT where the strides do not allow it.
Tensor view(const Tensor &tensor, const Shape &shape);
Tensor permute(const Tensor &tensor, const Shape &axes);
Tensor transpose(const Tensor &tensor, int64_t axis0, int64_t axis1);
// Elements start, start + step, ... of an axis, `count` of them, all inside it.
Tensor slice(const Tensor &tensor, int64_t axis, int64_t start, int64_t count, int64_t step);
Tensor select(const Tensor &tensor, int64_t axis, int64_t index);
Tensor squeeze(const Tensor &tensor, IntList axes);
Tensor unsqueeze(const Tensor &tensor, int64_t axis);
Tensor as_strided(const Tensor &tensor, const Shape &shape, const Shape &strides, uint64_t byte_offset);
// A diagonal of two axes, as a new last axis; offset 1 is the one to the right of the main one.
Tensor diagonal(const Tensor &tensor, int64_t offset, int64_t axis1, int64_t axis2);
// Windows of `size` elements along an axis, `step` apart; the elements of a window are a new last axis.
Tensor unfold(const Tensor &tensor, int64_t axis, int64_t size, int64_t step);
Tensor flip_view(const Tensor &tensor, int64_t axis);

}  // namespace dougong
