// SPDX-License-Identifier: Apache-2.0
#include "gradients.h"

#include <cmath>

#include "shape_rules.h"

namespace dougong::ops {

Tensor zeros(const Shape &shape, dg_dtype_t dtype, Device &device) { return full(shape, Scalar(0), dtype, device); }

Tensor sum_to(const Tensor &tensor, const Shape &shape) {
  if (tensor.shape() == shape) return tensor;
  const int64_t shift = tensor.ndim() - int64_t(shape.size());
  Shape axes;
  for (int64_t i = 0; i < tensor.ndim(); ++i)
    if (i < shift || (shape[i - shift] == 1 && tensor.size(i) != 1)) axes.push_back(i);
  return reshape(axes.empty() ? tensor : sum(tensor, axes, true), shape);
}

Tensor restored(const Tensor &tensor, const Shape &shape, IntList axes, bool keepdim) {
  return keepdim ? tensor : reshape(tensor, reduced(shape, axes, true));
}

double count(const Shape &shape, IntList axes) {
  double product = 1;
  for (int64_t axis : axes) product *= double(shape[axis]);
  return product;
}

Tensor shared_among_ties(const Tensor &dy, const Tensor &x, const Tensor &y, IntList axes, bool keepdim) {
  const Tensor equal = cast(eq(x, restored(y, x.shape(), axes, keepdim)), dy.dtype());
  return equal * (restored(dy, x.shape(), axes, keepdim) / sum(equal, axes, true));
}

Tensor matrix_transpose(const Tensor &tensor) { return transpose(tensor, -1, -2); }

Shape negated(IntList list) {
  Shape result(list);
  for (int64_t &value : result) value = -value;
  return result;
}

Tensor clamp_backward(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max) {
  Tensor result = dy;
  if (min.defined()) result = masked_fill(result, lt(x, min), 0);
  if (max.defined()) result = masked_fill(result, gt(x, max), 0);
  return result;
}

Tensor clamp_backward_min(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max) {
  const Tensor result = masked_fill(dy, ge(x, min), 0);
  return max.defined() ? masked_fill(result, gt(min, max), 0) : result;
}

Tensor clamp_backward_max(const Tensor &dy, const Tensor &x, const Tensor &min, const Tensor &max) {
  const Tensor decided = min.defined() ? logical_or(gt(x, max), gt(min, max)) : gt(x, max);
  return masked_fill(dy, logical_not(decided), 0);
}

Tensor ratio_or_zero(const Tensor &a, const Tensor &b) { return masked_fill(a / b, eq(b, 0), 0); }

Tensor prod_backward(const Tensor &dy, const Tensor &x, IntList axes, bool keepdim) {
  const Tensor zero = eq(x, 0), safe = masked_fill(x, zero, 1);
  const Tensor zeros = sum(cast(zero, DG_DTYPE_INT64), axes, true);
  const Tensor product = prod(safe, axes, true);
  const Tensor at_zero = masked_fill(product, ne(zeros, 1), 0), elsewhere = masked_fill(product, ne(zeros, 0), 0);
  return where(zero, at_zero, elsewhere / safe) * restored(dy, x.shape(), axes, keepdim);
}

Tensor norm_backward(const Tensor &dy, const Tensor &x, const Tensor &y, double p, IntList axes, bool keepdim) {
  if (p == 0 || x.numel() == 0) return zeros(x.shape(), x.dtype(), x.device());
  if (std::isinf(p)) return shared_among_ties(dy, abs(x), y, axes, keepdim) * sign(x);
  const Tensor start = restored(dy, x.shape(), axes, keepdim);
  if (p == 1) return sign(x) * start;
  const Tensor whole = restored(y, x.shape(), axes, keepdim), none = eq(whole, 0), safe = masked_fill(whole, none, 1);
  if (p == 2) return x * masked_fill(start / safe, none, 0);
  const Tensor powers = sign(x) * pow(masked_fill(abs(x), eq(x, 0), 1), p - 1);
  return powers * (masked_fill(start, none, 0) * pow(safe, 1 - p));
}

Tensor reversed_cumsum(const Tensor &tensor, int64_t axis) {
  if (tensor.ndim() == 0) return tensor;
  return flip_view(cumsum(flip_view(tensor, axis), axis), axis);
}

// At the first zero the product of the others is taken, with 1 in its place; behind it all are 0.
Tensor cumprod_backward(const Tensor &dy, const Tensor &x, const Tensor &y, int64_t axis) {
  const Tensor zero = eq(x, 0), first = logical_and(zero, eq(cumsum(zero, axis), 1));
  const Tensor elsewhere = reversed_cumsum(dy * y, axis) / masked_fill(x, zero, 1);
  const Tensor others = cumprod(masked_fill(x, first, 1), axis);
  const Tensor before = gt(cumsum(zero, axis), 0);
  const Tensor at_first = reversed_cumsum(masked_fill(dy * others, logical_not(before), 0), axis);
  return where(first, at_first, masked_fill(elsewhere, zero, 0));
}

Tensor slice_backward(const Tensor &dy, const Shape &shape, int64_t axis, int64_t start, int64_t step) {
  Tensor result = zeros(shape, dy.dtype(), dy.device());
  const Shape part = dy.shape();
  copy_into(slice(result, axis, start, part[axis], step), dy.detach());
  record_function("slice_backward", dy, result,
                  [=](const Tensor &ddy) { return slice(ddy, axis, start, part[axis], step); });
  return result;
}

Outputs with_statistics(Outputs gradients, const Tensor &dmean, const Tensor &drstd, const Tensor &x,
                        const Tensor &mean, const Tensor &rstd, int64_t axes) {
  if (!dmean.defined() && !drstd.defined()) return gradients;
  Shape last, kept(x.shape());
  for (int64_t axis = x.ndim() - axes; axis < x.ndim(); ++axis) last.push_back(axis), kept[axis] = 1;
  const double n = count(x.shape(), last);
  if (dmean.defined()) gradients[0] = gradients[0] + reshape(dmean, kept) / n;
  if (!drstd.defined()) return gradients;
  const Tensor slope = reshape(drstd * rstd * rstd * rstd, kept) / -n;
  gradients[0] = gradients[0] + (x - reshape(mean, kept)) * slope;
  return gradients;
}

void cat_gradient(GradCall &g) {
  const auto &at = g.attributes<dg_cat_attributes_t>();
  int64_t start = 0;
  for (int i = 0; i < g.node.input_count; ++i) {
    const int64_t count = g.meta(i).shape[at.axis];
    if (g.needs(i)) g.set(i, slice(g.gradient(0), at.axis, start, count, 1));
    start += count;
  }
}

}  // namespace dougong::ops
