// The words of the `decompose` expressions of kernels/ops; those of gradients.h and shape_rules.h are there as well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "dtype.h"
#include "gradients.h"
#include "index_words.h"
#include "shape_rules.h"
#include "window_words.h"

namespace dougong::ops {

// In the precision that a computation of several steps needs: float32 for float16 and bfloat16.
Tensor wide(const Tensor &tensor);
constexpr double infinity = std::numeric_limits<double>::infinity();
inline double power(double base, int64_t exponent) { return std::pow(base, double(exponent)); }
inline double root(double value) { return std::sqrt(value); }
inline double not_negative(double value) { return value > 0 ? value : 0; }
// The axes 0 .. count - 1, and the last `count` of `ndim`.
Shape first_axes(int64_t count);
Shape last_axes(int64_t ndim, int64_t count);
// The number of elements.
int64_t count_of(const Shape &shape);
// All axes but one.
Shape other_axes(int64_t ndim, int64_t axis);
// A vector along one of `ndim` axes; along axis 1, the channels.
Tensor along_axis(const Tensor &vector, int64_t axis, int64_t ndim);
inline Tensor per_channel(const Tensor &vector, int64_t ndim) { return along_axis(vector, 1, ndim); }
// (..., heads, queries, n) with the heads that share one of the key's put on top of each other.
Shape stacked_heads(const Shape &shape, const Shape &key);
// Pairs of features side by side, or interleaved, and the rest behind them.
Tensor paired(const Tensor &first, const Tensor &second, const Tensor &rest, bool interleaved);

}  // namespace dougong::ops
