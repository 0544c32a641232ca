// SPDX-License-Identifier: Apache-2.0
#include "views.h"

#include "autograd.h"
#include "gradients.h"
#include "shape_rules.h"

namespace dougong {

int64_t normalize_axis(int64_t axis, int64_t ndim) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  if (axis < -range || axis >= range)
    fail(DG_STATUS_OUT_OF_RANGE, "axis %lld is out of range: a tensor of %lld axes has axes %lld to %lld",
         (long long)axis, (long long)ndim, (long long)-range, (long long)(range - 1));
  return axis < 0 ? axis + range : axis;
}

template <class Backward>
static Tensor make_view(const Tensor &tensor, const Shape &shape, const Shape &strides, uint64_t byte_offset,
                        const char *name, const Backward &backward) {
  Tensor result = Tensor::over(tensor->storage, tensor.dtype(), shape, strides, byte_offset);
  result->is_view = true;
  if (grad_enabled()) result->base = tensor->base ? tensor->base : Ref<TensorImpl>(tensor.get());
  if (grad_enabled() && tensor.requires_grad()) {
    record_function(name, tensor, result, backward);
    result->autograd->view_version = int64_t(result->storage->version.load());
  }
  return result;
}

Tensor expand(const Tensor &tensor, const Shape &wanted) {
  const Shape from = tensor.shape();
  if (from == wanted) return tensor;
  Shape shape = wanted, strides;
  const int64_t shift = int64_t(shape.size()) - int64_t(from.size());
  strides.resize(shape.size());
  for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
    const int64_t k = i - shift;
    if (shape[i] == -1 && k >= 0) shape[i] = from[k];
    strides[i] = k < 0 || (from[k] == 1 && shape[i] != 1) ? 0 : tensor.stride(k);
  }
  if (!broadcasts_to(from, shape))
    fail(DG_STATUS_INVALID_ARGUMENT, "expand: a tensor of shape %s does not broadcast to %s", from.text().c_str(),
         wanted.text().c_str());
  return make_view(tensor, shape, strides, tensor.byte_offset(), "expand",
                   [from](const Tensor &dy) { return ops::sum_to(dy, from); });
}

static Shape resolve_shape(const char *what, const Tensor &tensor, const Shape &wanted) {
  Shape shape = wanted;
  int64_t unknown = -1, known = 1;
  bool fits = true;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
    if (shape[i] == -1 && unknown < 0)
      unknown = i;
    else if (shape[i] < 0)
      fits = false;
    else
      fits &= !__builtin_mul_overflow(known, shape[i], &known);
  }
  if (unknown >= 0 && fits) {
    fits = known > 0 && tensor.numel() % known == 0;
    if (fits) shape[unknown] = tensor.numel() / known;
  } else {
    fits &= known == tensor.numel();
  }
  if (!fits)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: %lld elements of shape %s do not make shape %s", what,
         (long long)tensor.numel(), tensor.shape().text().c_str(), wanted.text().c_str());
  return shape;
}

// Strides that show the same elements in the new shape; false where there are none. Axes of the old shape that lie
// densely behind each other form a group, and each group is cut anew.
static bool view_strides(const Tensor &tensor, const Shape &shape, Shape &strides) {
  strides.resize(shape.size());
  if (tensor.is_contiguous() || tensor.numel() == 0) {
    strides = dense_strides(shape);
    return true;
  }
  int64_t target = int64_t(shape.size()) - 1;
  int64_t group = 1, covered = 1;
  int64_t base = tensor.ndim() ? tensor.stride(tensor.ndim() - 1) : 1;
  for (int64_t axis = tensor.ndim() - 1; axis >= 0; --axis) {
    group *= tensor.size(axis);
    const bool last = axis == 0 || (tensor.size(axis - 1) != 1 && tensor.stride(axis - 1) != group * base);
    if (!last) continue;
    while (target >= 0 && (covered < group || shape[target] == 1)) {
      strides[target] = covered * base;
      covered *= shape[target--];
    }
    if (covered != group) return false;
    group = covered = 1;
    if (axis > 0) base = tensor.stride(axis - 1);
  }
  return target < 0;
}

static Tensor viewed(const Tensor &tensor, const Shape &shape, const Shape &strides) {
  const Shape from = tensor.shape();
  return make_view(tensor, shape, strides, tensor.byte_offset(), "reshape",
                   [from](const Tensor &dy) { return reshape(dy, from); });
}

Tensor reshape(const Tensor &tensor, const Shape &wanted) {
  const Shape shape = resolve_shape("reshape", tensor, wanted);
  if (shape == tensor.shape()) return tensor;
  Shape strides;
  if (view_strides(tensor, shape, strides)) return viewed(tensor, shape, strides);
  return reshape(contiguous(tensor), shape);
}

Tensor view(const Tensor &tensor, const Shape &wanted) {
  const Shape shape = resolve_shape("view", tensor, wanted);
  Shape strides;
  if (!view_strides(tensor, shape, strides))
    fail(DG_STATUS_INVALID_ARGUMENT,
         "view: shape %s with strides %s has no view of shape %s; use reshape, which copies",
         tensor.shape().text().c_str(), tensor.strides().text().c_str(), wanted.text().c_str());
  return viewed(tensor, shape, strides);
}

Tensor permute(const Tensor &tensor, const Shape &axes) {
  const int64_t ndim = tensor.ndim();
  Shape shape, strides, inverse;
  inverse.resize(size_t(ndim), -1);
  bool fits = int64_t(axes.size()) == ndim;
  for (size_t i = 0; fits && i < axes.size(); ++i) {
    const int64_t axis = normalize_axis(axes.data()[i], ndim);
    fits = inverse[axis] == -1;
    inverse[axis] = int64_t(i);
    shape.push_back(tensor.size(axis));
    strides.push_back(tensor.stride(axis));
  }
  if (!fits)
    fail(DG_STATUS_INVALID_ARGUMENT, "permute: %s is not an order of the axes of shape %s", axes.text().c_str(),
         tensor.shape().text().c_str());
  return make_view(tensor, shape, strides, tensor.byte_offset(), "permute",
                   [inverse](const Tensor &dy) { return permute(dy, inverse); });
}

Tensor transpose(const Tensor &tensor, int64_t axis0, int64_t axis1) {
  Shape axes;
  for (int64_t i = 0; i < tensor.ndim(); ++i) axes.push_back(i);
  axis0 = normalize_axis(axis0, tensor.ndim()), axis1 = normalize_axis(axis1, tensor.ndim());
  if (!axes.empty()) std::swap(axes[axis0], axes[axis1]);
  return permute(tensor, axes);
}

Tensor slice(const Tensor &tensor, int64_t axis, int64_t start, int64_t count, int64_t step) {
  Shape shape = tensor.shape(), strides = tensor.strides();
  const Shape from = shape;
  const auto item = int64_t(dtype_size(tensor.dtype()));
  const int64_t shift = count > 0 ? start * strides[axis] * item : 0;
  shape[axis] = count;
  if (count > 1) strides[axis] *= step;  // of one element or none the stride says nothing, and the step may be huge
  return make_view(tensor, shape, strides, uint64_t(int64_t(tensor.byte_offset()) + shift), "slice",
                   [=](const Tensor &dy) { return ops::slice_backward(dy, from, axis, start, step); });
}

Tensor select(const Tensor &tensor, int64_t axis, int64_t index) {
  axis = normalize_axis(axis, tensor.ndim());
  const int64_t size = tensor.ndim() ? tensor.size(axis) : 0;
  if (index < -size || index >= size)
    fail(DG_STATUS_OUT_OF_RANGE, "index %lld is out of range for axis %lld of shape %s", (long long)index,
         (long long)axis, tensor.shape().text().c_str());
  return squeeze(slice(tensor, axis, index < 0 ? index + size : index, 1, 1), IntList(&axis, 1));
}

Tensor squeeze(const Tensor &tensor, IntList axes) {
  bool gone[DG_MAX_NDIM] = {};
  for (int64_t axis : axes) {
    axis = normalize_axis(axis, tensor.ndim());
    if (tensor.ndim()) gone[axis] = tensor.size(axis) == 1;
  }
  Shape shape, strides;
  for (int64_t i = 0; i < tensor.ndim(); ++i) {
    if (axes.given() ? gone[i] : tensor.size(i) == 1) continue;
    shape.push_back(tensor.size(i));
    strides.push_back(tensor.stride(i));
  }
  return shape.size() == size_t(tensor.ndim()) ? tensor : viewed(tensor, shape, strides);
}

Tensor unsqueeze(const Tensor &tensor, int64_t axis) {
  axis = normalize_axis(axis, tensor.ndim() + 1);
  Shape shape, strides;
  for (int64_t i = 0; i <= tensor.ndim(); ++i) {
    const int64_t source = i < axis ? i : i - 1;
    shape.push_back(i == axis ? 1 : tensor.size(source));
    strides.push_back(i == axis ? 1 : tensor.stride(source));
  }
  return viewed(tensor, shape, strides);
}

Tensor as_strided(const Tensor &tensor, const Shape &shape, const Shape &strides, uint64_t byte_offset) {
  if (tensor.requires_grad() && grad_enabled())
    fail(DG_STATUS_UNIMPLEMENTED, "as_strided has no gradient; use slices, or detach the tensor first");
  Tensor result = Tensor::over(tensor->storage, tensor.dtype(), shape, strides, byte_offset);
  const Span span = byte_span(result.descriptor());
  const auto first = int64_t(byte_offset);
  if (first + span.low < 0 || uint64_t(first + span.high) > tensor->storage->size)
    fail(DG_STATUS_OUT_OF_RANGE, "as_strided: shape %s with strides %s reaches outside the %llu bytes of its storage",
         shape.text().c_str(), strides.text().c_str(), (unsigned long long)tensor->storage->size);
  return result;
}

// The gradient of a view of dense memory: zeros, and dy added where each element of the view came from.
static Tensor sent_back(const Tensor &dy, const Tensor &places, const Shape &from) {
  const Tensor zeros = ops::zeros(Shape{from.numel()}, dy.dtype(), dy.device());
  const Shape all{places.numel()};
  return reshape(ops::scatter(zeros, reshape(places, all), reshape(dy, all), 0, DG_SCATTER_REDUCE_ADD), from);
}

template <class View>
static Tensor strided_view(const Tensor &tensor, const Shape &shape, const Shape &strides, int64_t shift,
                           const char *name, const View &view) {
  const uint64_t offset = tensor.byte_offset() + uint64_t(shift * int64_t(dtype_size(tensor.dtype())));
  const Shape from = tensor.shape();
  return make_view(tensor, shape, strides, offset, name, [from, view](const Tensor &dy) {
    const Tensor all = ops::arange(0, 1, from.numel(), DG_DTYPE_INT64, dy.device());
    return sent_back(dy, view(reshape(all, from)), from);
  });
}

Tensor diagonal(const Tensor &tensor, int64_t offset, int64_t axis1, int64_t axis2) {
  if (tensor.ndim() < 2)
    fail(DG_STATUS_INVALID_ARGUMENT, "diagonal: wanted two axes or more; found shape %s",
         tensor.shape().text().c_str());
  axis1 = normalize_axis(axis1, tensor.ndim()), axis2 = normalize_axis(axis2, tensor.ndim());
  if (axis1 == axis2)
    fail(DG_STATUS_INVALID_ARGUMENT, "diagonal: the axes must be two; found %lld twice", (long long)axis1);
  const int64_t down = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  const int64_t size = std::max<int64_t>(std::min(tensor.size(axis1) - down, tensor.size(axis2) - right), 0);
  Shape shape, strides;
  for (int64_t axis = 0; axis < tensor.ndim(); ++axis)
    if (axis != axis1 && axis != axis2) shape.push_back(tensor.size(axis)), strides.push_back(tensor.stride(axis));
  shape.push_back(size), strides.push_back(tensor.stride(axis1) + tensor.stride(axis2));
  const int64_t shift = shape.numel() > 0 ? down * tensor.stride(axis1) + right * tensor.stride(axis2) : 0;
  return strided_view(tensor, shape, strides, shift, "diagonal",
                      [=](const Tensor &all) { return diagonal(all, offset, axis1, axis2); });
}

Tensor unfold(const Tensor &tensor, int64_t axis, int64_t size, int64_t step) {
  axis = normalize_axis(axis, tensor.ndim());
  if (tensor.ndim() == 0 || size < 0 || size > tensor.size(axis) || step < 1)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "unfold: wanted windows of 0 to the size of axis %lld, and a step of 1 or more; found size %lld, step %lld, "
         "shape %s",
         (long long)axis, (long long)size, (long long)step, tensor.shape().text().c_str());
  Shape shape = tensor.shape(), strides = tensor.strides();
  shape[axis] = (tensor.size(axis) - size) / step + 1;
  if (shape[axis] > 1) strides[axis] *= step;
  shape.push_back(size), strides.push_back(tensor.stride(axis));
  return strided_view(tensor, shape, strides, 0, "unfold",
                      [=](const Tensor &all) { return unfold(all, axis, size, step); });
}

Tensor flip_view(const Tensor &tensor, int64_t axis) {
  axis = normalize_axis(axis, tensor.ndim());
  return slice(tensor, axis, tensor.size(axis) - 1, tensor.size(axis), -1);
}

}  // namespace dougong
