// SPDX-License-Identifier: Apache-2.0
#include "index_words.h"

#include "decompositions.h"

namespace dougong::ops {

Shape resized(const Shape &shape, int64_t axis, int64_t size) {
  Shape result = shape;
  result[axis] = size;
  return result;
}

Tensor index_along(const Shape &shape, const Tensor &index, int64_t axis) {
  return expand(along_axis(index, axis, int64_t(shape.size())), resized(shape, axis, index.numel()));
}

Tensor columns_less_rows(const Shape &shape, Device &device) {
  const Tensor rows = arange(0, 1, shape[-2], DG_DTYPE_INT64, device);
  return arange(0, 1, shape[-1], DG_DTYPE_INT64, device) - unsqueeze(rows, 1);
}

// The last value is the stop itself: start + (count - 1) * step may round to another one.
Tensor evenly_spaced(double start, double stop, int64_t count, dg_dtype_t dtype, Device &device) {
  if (count < 2) return full(Shape{count}, start, dtype, device);
  const double step = (stop - start) / double(count - 1);
  return cat({arange(start, step, count - 1, dtype, device), full(Shape{1}, stop, dtype, device)}, 0);
}

// A table for each axis says how far an index reaches: looking it up counts negative ones from the end and refuses bad
// ones. The indices of a single axis are looked up, and refused, by whoever uses them.
Tensor flat_places(const Shape &sizes, const std::vector<Tensor> &indices) {
  if (indices.size() == 1) return indices[0];
  Tensor places;
  int64_t step = 1;
  for (auto axis = int64_t(indices.size()); axis-- > 0; step *= sizes[axis]) {
    const Tensor table = arange(0, step, sizes[axis], DG_DTYPE_INT64, indices[0].device());
    const Tensor one = gather(table, indices[size_t(axis)], 0);
    places = places.defined() ? places + one : one;
  }
  return places;
}

// The rows of index (k, ...), which belong to the first k axes of the shape.
static Tensor places_of(const Shape &shape, const Tensor &index) {
  std::vector<Tensor> rows;
  for (int64_t axis = 0; axis < index.size(0); ++axis) rows.push_back(reshape(select(index, 0, axis), Shape{-1}));
  if (index.numel() == 0)
    for (Tensor &row : rows) row = zeros(Shape{0}, DG_DTYPE_INT64, index.device());
  return flat_places(shape, rows);
}

Tensor merged(const Tensor &x, int64_t axes) {
  const Shape all = x.shape();
  return reshape(x, joined(Shape{count_of(leading(all, x.ndim() - axes))}, trailing(all, x.ndim() - axes)));
}

Tensor put_at(const Tensor &x, const Tensor &index, const Tensor &source, bool accumulate) {
  const int64_t axes = index.size(0);
  const Tensor rows = merged(x, axes), places = index_along(rows.shape(), places_of(x.shape(), index), 0);
  const int32_t reduce = accumulate ? DG_SCATTER_REDUCE_ADD : DG_SCATTER_REDUCE_SET;
  return reshape(scatter(rows, places, reshape(source, places.shape()), 0, reduce), x.shape());
}

Tensor index_get(const Tensor &x, const Tensor &index) {
  const int64_t axes = index.size(0);
  const Tensor rows = merged(x, axes);
  const Tensor picked = index_select(rows, places_of(x.shape(), index), 0);
  return reshape(picked, joined(trailing(index.shape(), index.ndim() - 1), trailing(x.shape(), x.ndim() - axes)));
}

bool count_fits(int64_t count, const Shape &shape) { return count >= 0 && count <= count_of(shape); }

Tensor nonzero_places(const Tensor &x, int64_t count) {
  const Tensor found = reshape(ne(x, 0), Shape{x.numel()});
  const Outputs ordered = sort(found, 0, true);
  const Tensor places = slice(ordered[1], 0, 0, count, 1);
  return masked_fill(places, logical_not(slice(ordered[0], 0, 0, count, 1)), 0);
}

Tensor unravelled(const Tensor &places, const Shape &shape) {
  const int64_t ndim = int64_t(shape.size());
  if (ndim == 0 || places.numel() == 0) return zeros(Shape{places.numel(), ndim}, DG_DTYPE_INT64, places.device());
  std::vector<Tensor> columns(shape.size());
  Tensor rest = places;
  for (int64_t axis = ndim; axis-- > 0; rest = floor_divide(rest, shape[axis]))
    columns[size_t(axis)] = unsqueeze(remainder(rest, shape[axis]), 1);
  return cat(columns, 1);
}

bool sequences_fit(const Shape &sequence, const Shape &values) {
  return sequence.size() == values.size() && leading(sequence, 1) == leading(values, 1);
}

Tensor count_before(const Tensor &sequence, const Tensor &values, bool right) {
  const Tensor elements = sequence.ndim() == 1 ? sequence : unsqueeze(sequence, sequence.ndim() - 1);
  const Tensor value = unsqueeze(values, values.ndim());
  Tensor before = right ? le(elements, value) : lt(elements, value);
  if (is_floating(sequence.dtype())) {
    const Tensor last = isnan(value);
    before = logical_or(before, right ? last : logical_and(last, logical_not(isnan(elements))));
  }
  const int64_t axis = before.ndim() - 1;
  return count_nonzero(before, IntList(&axis, 1), false);
}

Shape stacked_shape(const OpCall &call, int64_t axis) {
  const Shape shape = call.inputs[0].shape();
  for (int i = 1; i < call.input_count; ++i)
    if (call.inputs[i].shape() != shape)
      fail(DG_STATUS_INVALID_ARGUMENT, "stack: shapes must be equal; found %s and %s", shape.text().c_str(),
           call.inputs[i].shape().text().c_str());
  axis = normalize_axis(axis, int64_t(shape.size()) + 1);
  return joined(joined(Shape(shape.data(), size_t(axis)), Shape{call.input_count}),
                trailing(shape, int64_t(shape.size()) - axis));
}

Tensor stacked(const OpCall &call, int64_t axis) {
  axis = normalize_axis(axis, call.inputs[0].ndim() + 1);
  std::vector<Tensor> parts;
  for (int i = 0; i < call.input_count; ++i) parts.push_back(unsqueeze(call.inputs[i], axis));
  return cat(parts, axis);
}

Tensor rolled(const Tensor &x, IntList shifts, IntList axes) {
  Tensor result = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = normalize_axis(axes[i], x.ndim()), size = x.ndim() ? x.size(axis) : 0;
    const int64_t start = size ? (size - shifts[i] % size) % size : 0;  // of the element that comes first
    if (start) result = cat({slice(result, axis, start, size - start, 1), slice(result, axis, 0, start, 1)}, axis);
  }
  return result;
}

Tensor repeated(const Tensor &x, int64_t repeats, int64_t axis) {
  const Shape shape = x.shape();
  const Tensor apart = unsqueeze(x, axis + 1);
  return reshape(expand(apart, resized(apart.shape(), axis + 1, repeats)), resized(shape, axis, shape[axis] * repeats));
}

Outputs shared_among_winners(const Tensor &dy, const Tensor &x, const Tensor &index, const Tensor &source,
                             const Tensor &y, int64_t axis) {
  const Tensor own = cast(eq(x, y), dy.dtype()), sent = cast(eq(source, gather(y, index, axis)), dy.dtype());
  const Tensor share = ratio_or_zero(dy, scatter(own, index, sent, axis, DG_SCATTER_REDUCE_ADD));
  return {own * share, sent * gather(share, index, axis)};
}

}  // namespace dougong::ops
