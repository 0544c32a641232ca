// The words of the `grad` expressions of kernels/ops, and arithmetic on tensors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autograd.h"
#include "generated/ops.h"
#include "views.h"

namespace dougong {

inline Tensor operator+(const Arg &a, const Arg &b) { return ops::add(a, b); }
inline Tensor operator-(const Arg &a, const Arg &b) { return ops::sub(a, b); }
inline Tensor operator*(const Arg &a, const Arg &b) { return ops::mul(a, b); }
inline Tensor operator/(const Arg &a, const Arg &b) { return ops::div(a, b); }
inline Tensor operator-(const Tensor &a) { return ops::neg(a); }

namespace ops {

Tensor zeros(const Shape &shape, dg_dtype_t dtype, Device &device);
inline Tensor zeros_like(const TensorMeta &meta) { return zeros(meta.shape, meta.dtype, *meta.device); }
// Sums over the axes that were broadcast, so that the result has the shape.
Tensor sum_to(const Tensor &tensor, const Shape &shape);
// A reduction's result with its reduced axes back, as axes of size 1.
Tensor restored(const Tensor &tensor, const Shape &shape, IntList axes, bool keepdim);
// How many elements each result of a reduction stands for.
double count(const Shape &shape, IntList axes);
// The gradient of max and min: shared equally among the elements that have the value.
Tensor shared_among_ties(const Tensor &dy, const Tensor &x, const Tensor &y, IntList axes, bool keepdim);
Tensor matrix_transpose(const Tensor &tensor);
Shape negated(IntList list);
// Clamp: x has the gradient inside the bounds and on them, a bound where it decides. An absent bound is no bound.
Tensor clamp_backward(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max);
Tensor clamp_backward_min(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max);
Tensor clamp_backward_max(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max);
// a / b, and 0 where b is 0.
Tensor ratio_or_zero(const Tensor &a, const Tensor &b);
// The product of all others, also where elements are zero.
Tensor prod_backward(const Tensor &dy, const Tensor &x, IntList axes, bool keepdim);
// 0 where the norm is 0; the greatest and the least share among ties.
Tensor norm_backward(const Tensor &dy, const Tensor &x, const Tensor &y, double p, IntList axes, bool keepdim);
Tensor reversed_cumsum(const Tensor &tensor, int64_t axis);
Tensor cumprod_backward(const Tensor &dy, const Tensor &x, const Tensor &y, int64_t axis);
// The gradients of a normalisation over the last axes, and what came for its statistics, which are functions of x too.
Outputs with_statistics(Outputs gradients, const Tensor &dmean, const Tensor &drstd, const Tensor &x,
                        const Tensor &mean, const Tensor &rstd, int64_t axes);
Tensor slice_backward(const Tensor &dy, const Shape &shape, int64_t axis, int64_t start, int64_t step);
// The gradient of a loss, for each element: reduction 0 keeps them, 1 averages, 2 sums.
Tensor loss_gradient(const Tensor &dy, const Shape &shape, int32_t reduction);
// Times the weight, where there is one.
Tensor weighted(const Tensor &tensor, const Tensor &weight);
// The first of several gradients with something added, where there is something.
Outputs plus(Outputs gradients, const Tensor &more);
// What the gradients of the mean and variance of each channel are for x.
Tensor moments_gradient(const Tensor &dmean, const Tensor &dvar, const Tensor &x, const Tensor &mean);

}  // namespace ops
}  // namespace dougong
