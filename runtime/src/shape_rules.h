// The words of the `shape` and `require` expressions of kernels/ops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"
#include "window_rules.h"

namespace dougong {

// Throws INVALID_ARGUMENT: the op, what was wanted, and the shapes found.
[[noreturn]] void reject(const OpDef &op, const OpCall &call, const std::string &wanted);

// "x (2, 3), index (4,)": the inputs of a call, for messages.
std::string describe_inputs(const OpDef &op, const OpCall &call);

// The shape that all broadcast to, by the array API's rule. Throws with both shapes.
Shape broadcast(const Shape &a, const Shape &b);
bool broadcasts_to(const Shape &from, const Shape &to);

constexpr int64_t no_axis = INT64_MIN;

namespace ops {

Shape reduced(const Shape &shape, IntList axes, bool keepdim);
inline Shape reduced(const Shape &shape, int64_t axis, bool keepdim) {
  return reduced(shape, IntList(&axis, 1), keepdim);
}
bool not_empty(const Shape &shape, IntList axes);
inline bool not_empty(const Shape &shape, int64_t axis) { return shape[axis] > 0; }
Shape concatenated(const OpCall &call, int64_t axis);
// Every axis but one: index no longer than x.
bool gather_fits(const Shape &shape, const Shape &index, int64_t axis);
bool pad_fits(const Shape &shape, IntList padding);
Shape padded(const Shape &shape, IntList padding);
Shape matmul_shape(const Shape &a, const Shape &b);
bool bias_fits(const Tensor &bias, int64_t size);
inline bool given(const Tensor &tensor) { return tensor.defined(); }
// How many places a window of `window` elements has.
int64_t window_count(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation);
bool window_fits(const Shape &image, int64_t height, int64_t width, IntList stride, IntList padding, IntList dilation);
bool pool_padding_fits(IntList window, IntList padding);
// Whether the tensor, if it is there, has the shape of the last `axes` axes.
bool ends_with(const Shape &shape, const Tensor &tensor, int64_t axes);
inline Shape leading(const Shape &shape, int64_t axes) { return {shape.data(), shape.size() - size_t(axes)}; }
inline Shape trailing(const Shape &shape, int64_t axes) { return {shape.end() - axes, size_t(axes)}; }
Shape joined(const Shape &a, const Shape &b);
// Attention of (..., heads, queries, features): heads of query are a multiple of those of key and value.
bool attention_fits(const Shape &query, const Shape &key, const Shape &value);
bool scores_fit(const Tensor &tensor, const Shape &query, const Shape &key);

}  // namespace ops
}  // namespace dougong
