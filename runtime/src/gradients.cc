// SPDX-License-Identifier: Apache-2.0
#include "gradients.h"

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

Tensor slice_backward(const Tensor &dy, const Shape &shape, int64_t axis, int64_t start, int64_t step) {
  Tensor result = zeros(shape, dy.dtype(), dy.device());
  const Shape part = dy.shape();
  copy_into(slice(result, axis, start, part[axis], step), dy.detach());
  record_function("slice_backward", dy, result,
                  [=](const Tensor &ddy) { return slice(ddy, axis, start, part[axis], step); });
  return result;
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
