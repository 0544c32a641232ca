// SPDX-License-Identifier: Apache-2.0
#include "indexing.h"

#include "decompositions.h"

namespace dougong {

namespace {

// The indexed axes made one, which `places` indexes.
struct Merged {
  Tensor moved;   // the view with the indexed axes side by side
  Tensor rows;    // `moved` with these made one
  int64_t axis;   // that one
  Shape batch;    // the shape of the indices
  Tensor places;  // a vector
};

Tensor moved_to_front(const Tensor &view, const Shape &axes) {
  Shape order = axes;
  for (int64_t axis = 0; axis < view.ndim(); ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  return permute(view, order);
}

Shape common_shape(const std::vector<Tensor> &indices) {
  Shape result;
  std::string found;
  for (const Tensor &index : indices) found += (found.empty() ? "" : ", ") + index.shape().text();
  for (const Tensor &index : indices) {
    const Shape both = index.ndim() > int64_t(result.size()) ? index.shape() : result;
    Shape wanted = both;
    for (size_t i = 0; i < both.size(); ++i) {
      const auto k = -1 - int64_t(i);
      const int64_t a = i < result.size() ? result[k] : 1, b = int64_t(i) < index.ndim() ? index.shape()[k] : 1;
      if (a != b && a != 1 && b != 1)
        fail(DG_STATUS_OUT_OF_RANGE, "the tensors of an index must broadcast to one shape; found %s", found.c_str());
      wanted[k] = a == 1 ? b : a;
    }
    result = wanted;
  }
  return result;
}

Merged merge(const AdvancedIndex &index) {
  Merged result;
  const auto count = int64_t(index.axes.size());
  result.batch = common_shape(index.indices);
  result.axis = index.together ? index.axes[0] : 0;
  result.moved = index.together ? index.view : moved_to_front(index.view, index.axes);
  const Shape shape = result.moved.shape();
  const Shape sizes(shape.data() + result.axis, size_t(count));
  std::vector<Tensor> vectors;
  for (const Tensor &one : index.indices) vectors.push_back(reshape(expand(one, result.batch), Shape{-1}));
  if (result.batch.numel() == 0)
    for (Tensor &vector : vectors) vector = ops::zeros(Shape{0}, DG_DTYPE_INT64, index.view.device());
  result.places = ops::flat_places(sizes, vectors);
  const Shape rest = ops::trailing(shape, int64_t(shape.size()) - result.axis - count);
  const Shape before(shape.data(), size_t(result.axis));
  result.rows = reshape(result.moved, ops::joined(ops::joined(before, Shape{ops::count_of(sizes)}), rest));
  return result;
}

Shape result_shape(const Merged &merged) {
  const Shape rows = merged.rows.shape();
  const Shape before(rows.data(), size_t(merged.axis));
  return ops::joined(ops::joined(before, merged.batch), ops::trailing(rows, int64_t(rows.size()) - merged.axis - 1));
}

// On the device and in the dtype of the target, broadcast to the shape; leading axes of size 1 may be too many.
Tensor fitted(const Tensor &source, const Tensor &target, const Shape &shape) {
  Tensor result = to_device(source, target.device());
  if (result.dtype() != target.dtype()) result = ops::cast(result, target.dtype());
  while (result.ndim() > int64_t(shape.size()) && result.size(0) == 1) result = select(result, 0, 0);
  return expand(result, shape);
}

}  // namespace

Tensor read_indexed(const AdvancedIndex &index) {
  const Merged merged = merge(index);
  if (merged.axis > 0) return reshape(ops::index_select(merged.rows, merged.places, merged.axis), result_shape(merged));
  const int64_t width = ops::count_of(ops::trailing(merged.rows.shape(), merged.rows.ndim() - 1));
  const Tensor flat = reshape(merged.rows, Shape{merged.rows.size(0), width});
  return reshape(ops::embedding(flat, merged.places), result_shape(merged));
}

void write_view(const Tensor &view, const Tensor &source) {
  const NoGrad no_grad;
  copy_into(view, fitted(source, view, view.shape()));
}

void write_indexed(const AdvancedIndex &index, const Tensor &source) {
  const NoGrad no_grad;
  const Merged merged = merge(index);
  const Tensor places = ops::index_along(merged.rows.shape(), merged.places, merged.axis);
  const Tensor values = reshape(fitted(source, index.view, result_shape(merged)), places.shape());
  const Tensor written = ops::scatter(merged.rows, places, values, merged.axis, DG_SCATTER_REDUCE_SET);
  copy_into(merged.moved, reshape(written, merged.moved.shape()));
}

Tensor with_places_written(const Tensor &tensor, const Tensor &places, const Tensor &source) {
  const Tensor values = reshape(fitted(source, tensor, places.shape()), Shape{places.numel()});
  const Tensor flat = reshape(tensor, Shape{tensor.numel()});
  const Tensor where = reshape(places, Shape{places.numel()});
  return reshape(ops::scatter(flat, where, values, 0, DG_SCATTER_REDUCE_SET), tensor.shape());
}

static void take_over(const Tensor &tensor, const Tensor &result, const char *what) {
  copy_into(tensor, result);
  tensor->storage->recorded_write = int64_t(tensor->storage->version.load());
  record_function(what, result, tensor, [](const Tensor &dy) { return dy; });
}

void replace_in_place(const Tensor &tensor, const Tensor &result, const char *what) {
  check_in_place(tensor, what, result.requires_grad());
  if (!tensor->base) return take_over(tensor, result, what);
  const Tensor base(tensor->base.get());
  const auto item = int64_t(dtype_size(tensor.dtype())), shift = int64_t(tensor.byte_offset() - base.byte_offset());
  const Tensor all = ops::arange(0, 1, base.numel(), DG_DTYPE_INT64, base.device());
  const Tensor places = as_strided(all, tensor.shape(), tensor.strides(), uint64_t(shift / item * 8));
  take_over(base, with_places_written(base, places, result), what);
  const Tensor vector = reshape(places, Shape{places.numel()});
  const Tensor again = reshape(ops::gather(reshape(base, Shape{base.numel()}), vector, 0), tensor.shape());
  record_function(what, again, tensor, [](const Tensor &dy) { return dy; });
  if (tensor->autograd) tensor->autograd->view_version = int64_t(tensor->storage->version.load());
}

}  // namespace dougong
