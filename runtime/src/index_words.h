// The words of expressions of ops that move, choose and place elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "op.h"
#include "tensor.h"

namespace dougong::ops {

// The shape with another size on one axis.
Shape resized(const Shape &shape, int64_t axis, int64_t size);
// A vector of indices on its axis, stretched to the other axes of the shape: what gather and scatter want.
Tensor index_along(const Shape &shape, const Tensor &index, int64_t axis);
// For each element of a matrix with the last two sizes of the shape: its column less its row.
Tensor columns_less_rows(const Shape &shape, Device &device);
Tensor evenly_spaced(double start, double stop, int64_t count, dg_dtype_t dtype, Device &device);
// Vectors of indices into axes of these sizes, as indices into the one axis that they make together. Throws
// OUT_OF_RANGE.
Tensor flat_places(const Shape &sizes, const std::vector<Tensor> &indices);
// x with its first `axes` axes made one.
Tensor merged(const Tensor &x, int64_t axes);
Tensor put_at(const Tensor &x, const Tensor &index, const Tensor &source, bool accumulate);
// x[index[0], index[1], ...]
Tensor index_get(const Tensor &x, const Tensor &index);
bool count_fits(int64_t count, const Shape &shape);
// The places in row-major order of the first `count` elements that are not zero; 0 beyond the last of them.
Tensor nonzero_places(const Tensor &x, int64_t count);
// Places in row-major order as rows of indices.
Tensor unravelled(const Tensor &places, const Shape &shape);
// All axes but the last are equal.
bool sequences_fit(const Shape &sequence, const Shape &values);
// How many elements of the sequence come before each value; NaN is the greatest.
Tensor count_before(const Tensor &sequence, const Tensor &values, bool right);
Shape stacked_shape(const OpCall &call, int64_t axis);
Tensor stacked(const OpCall &call, int64_t axis);
Tensor rolled(const Tensor &x, IntList shifts, IntList axes);
Tensor repeated(const Tensor &x, int64_t repeats, int64_t axis);
// The gradients of scatter_reduce for x and for source: shared equally by all that have the value.
Outputs shared_among_winners(const Tensor &dy, const Tensor &x, const Tensor &index, const Tensor &source,
                             const Tensor &y, int64_t axis);

}  // namespace dougong::ops
