// The words of expressions of losses, normalisation and attention.
// SPDX-License-Identifier: Apache-2.0
#include "decompositions.h"

namespace dougong::ops {

Tensor loss_gradient(const Tensor &dy, const Shape &shape, int32_t reduction) {
  constexpr int32_t none = 0, mean = 1;
  if (reduction == none) return dy;
  return expand(reduction == mean ? dy / double(count_of(shape)) : dy, shape);
}

Tensor weighted(const Tensor &tensor, const Tensor &weight) { return weight.defined() ? tensor * weight : tensor; }

Outputs plus(Outputs gradients, const Tensor &more) {
  if (more.defined()) gradients[0] = gradients[0] + cast(more, gradients[0].dtype());
  return gradients;
}

Tensor moments_gradient(const Tensor &dmean, const Tensor &dvar, const Tensor &x, const Tensor &mean) {
  const double items = count(x.shape(), other_axes(x.ndim(), 1));
  const Tensor centred = wide(x) - per_channel(mean, x.ndim());
  return centred * per_channel(dvar * (2 / items), x.ndim()) + per_channel(dmean / items, x.ndim());
}

Shape other_axes(int64_t ndim, int64_t axis) {
  Shape axes;
  for (int64_t i = 0; i < ndim; ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

Tensor along_axis(const Tensor &vector, int64_t axis, int64_t ndim) {
  Shape shape;
  shape.resize(size_t(ndim), 1);
  shape[axis] = -1;
  return reshape(vector, shape);
}

bool attention_fits(const Shape &query, const Shape &key, const Shape &value) {
  if (query.size() != key.size() || query.size() != value.size()) return false;
  if (query[-1] != key[-1] || key[-2] != value[-2]) return false;
  if (leading(key, 2) != leading(value, 2)) return false;
  if (query.size() == 2) return true;
  const int64_t heads = query[-3], shared = key[-3];
  return leading(query, 3) == leading(key, 3) && (heads == shared || (shared > 0 && heads % shared == 0));
}

bool scores_fit(const Tensor &tensor, const Shape &query, const Shape &key) {
  return !tensor.defined() || broadcasts_to(tensor.shape(), joined(leading(query, 1), Shape{key[-2]}));
}

Shape stacked_heads(const Shape &shape, const Shape &key) {
  Shape result = shape;
  if (shape.size() == 2 || shape[-3] == key[-3]) return result;
  result[-2] = shape[-2] * (shape[-3] / key[-3]);
  result[-3] = key[-3];
  return result;
}

Tensor paired(const Tensor &first, const Tensor &second, const Tensor &rest, bool interleaved) {
  const int64_t axis = first.ndim() - 1;
  if (!interleaved) return cat({first, second, rest}, axis);
  Shape shape = first.shape();
  shape[axis] *= 2;
  const Tensor pairs = cat({unsqueeze(first, axis + 1), unsqueeze(second, axis + 1)}, axis + 1);
  return cat({reshape(pairs, shape), rest}, axis);
}

}  // namespace dougong::ops
