// Adaptive pools, interpolation and borders: elements picked by computed indices.
// SPDX-License-Identifier: Apache-2.0
#include "decompositions.h"
#include "window_words.h"

namespace dougong::ops {

Tensor picked(const Tensor &x, int64_t axis, const Tensor &index) {
  Shape along;
  for (int64_t i = 0; i < x.ndim(); ++i) along.push_back(i == axis ? index.numel() : 1);
  return gather(x, expand(reshape(index, along), with_size(x.shape(), axis, index.numel())), axis);
}

// ---- adaptive pools: the pieces are brought to one length, and pooled side by side

namespace {

struct Pieces {
  int64_t size, count, length;  // of the axis, of the pieces, of the longest piece
  Tensor index;                 // (count, length): the elements of each piece, the last one again for what it lacks
  Tensor lacking;               // (count, length): whether that is so
  Tensor lengths;               // (count)

  Pieces(Device &device, int64_t size, int64_t count) : size(size), count(count), length(0) {
    for (int64_t o = 0; o < count; ++o)
      length = std::max(length, ((o + 1) * size + count - 1) / count - o * size / count);
    auto steps = [&](int64_t start) {
      return floor_divide(arange(Scalar(start), Scalar(size), count, DG_DTYPE_INT64, device), Scalar(count));
    };
    const Tensor begin = steps(0), last = steps(size + count - 1) - 1;
    const Tensor whole = unsqueeze(begin, 1) + arange(Scalar(0), Scalar(1), length, DG_DTYPE_INT64, device);
    index = minimum(whole, unsqueeze(last, 1));
    lacking = gt(whole, unsqueeze(last, 1));
    lengths = last - begin + 1;
  }
};

}  // namespace

static bool even(const Tensor &x, IntList sizes) { return x.size(2) % sizes[0] == 0 && x.size(3) % sizes[1] == 0; }
static Shape lengths_of(const Tensor &x, IntList sizes) { return Shape{x.size(2) / sizes[0], x.size(3) / sizes[1]}; }

Tensor mean_of_pieces(const Tensor &x, IntList sizes) {
  const Shape none{0, 0}, whole = lengths_of(x, sizes);
  if (even(x, sizes)) return avg_pool2d(x, whole, whole, none, false, true, 0);
  const Pieces rows(x.device(), x.size(2), sizes[0]), columns(x.device(), x.size(3), sizes[1]);
  Tensor t = picked(picked(x, 2, rows.index), 3, columns.index);
  t = masked_fill(t, reshape(rows.lacking, Shape{sizes[0] * rows.length, 1}), Scalar(0));
  t = masked_fill(t, reshape(columns.lacking, Shape{sizes[1] * columns.length}), Scalar(0));
  const Shape window{rows.length, columns.length};
  const Tensor areas = cast(unsqueeze(rows.lengths, 1) * columns.lengths, x.dtype());
  return avg_pool2d(t, window, window, none, false, true, 1) / areas;
}

// Indices of (n, c, h, w) into a list.
static Tensor looked_up(const Tensor &list, const Tensor &index) {
  return reshape(gather(reshape(list, Shape{list.numel()}), reshape(index, Shape{index.numel()}), 0), index.shape());
}

Outputs greatest_of_pieces(const Tensor &x, IntList sizes) {
  const Shape none{0, 0}, one{1, 1}, whole = lengths_of(x, sizes);
  if (even(x, sizes)) return max_pool2d(x, whole, whole, none, one, false);
  const Pieces rows(x.device(), x.size(2), sizes[0]), columns(x.device(), x.size(3), sizes[1]);
  const Shape window{rows.length, columns.length};
  Outputs result = max_pool2d(picked(picked(x, 2, rows.index), 3, columns.index), window, window, none, one, false);
  const Scalar width(sizes[1] * columns.length);
  const Tensor row = looked_up(rows.index, floor_divide(result[1], width));
  const Tensor column = looked_up(columns.index, remainder(result[1], width));
  result[1] = row * Scalar(columns.size) + column;
  return result;
}

// ---- interpolation

namespace {

// Where the elements of the result lie on the old axis: numerators / denominator, exactly.
struct Places {
  Tensor numerators;
  int64_t denominator, old;

  Tensor floor() const { return floor_divide(numerators, Scalar(denominator)); }
  Tensor fraction(dg_dtype_t dtype) const {
    return cast(remainder(numerators, Scalar(denominator)), dtype) / Scalar(double(denominator));
  }
  Tensor inside(const Tensor &index) const { return minimum(maximum(index, 0), Scalar(old - 1)); }
};

Places places_of(Device &device, int64_t old, int64_t size, int32_t mode, bool align_corners, IntList step) {
  const int64_t p = step[0] ? step[0] : old, q = step[0] ? step[1] : size;
  auto every = [&](int64_t start, int64_t by, int64_t denominator) {
    return Places{arange(Scalar(start), Scalar(by), size, DG_DTYPE_INT64, device), denominator, old};
  };
  if (mode == DG_INTERPOLATE_MODE_NEAREST) return every(0, p, q);
  if (mode == DG_INTERPOLATE_MODE_NEAREST_EXACT) return every(p, 2 * p, 2 * q);
  Places places = align_corners ? every(0, old - 1, std::max<int64_t>(size - 1, 1)) : every(p - q, 2 * p, 2 * q);
  if (mode == DG_INTERPOLATE_MODE_LINEAR) places.numerators = maximum(places.numerators, 0);
  return places;
}

constexpr double keys = -0.75;  // the slope of the cubic kernel at distance 1, as image libraries have it

// The cubic kernel at distance t <= 1, and at 1 + t: as products, which do not cancel.
Tensor near_weight(const Tensor &t) { return (1 - t) * (1 + t - (keys + 2) * t * t); }
Tensor far_weight(const Tensor &t) { return keys * t * (1 - t) * (1 - t); }

// What an element of the result takes: the element `index` of the old axis, times `weight`; undefined for 1.
struct Tap {
  Tensor index, weight;
};

std::vector<Tap> taps_of(const Places &places, int32_t mode, dg_dtype_t dtype) {
  const Tensor at = places.floor();
  if (mode == DG_INTERPOLATE_MODE_NEAREST || mode == DG_INTERPOLATE_MODE_NEAREST_EXACT)
    return {{places.inside(at), Tensor()}};
  const Tensor t = places.fraction(dtype);
  if (mode == DG_INTERPOLATE_MODE_LINEAR) return {{places.inside(at), 1 - t}, {places.inside(at + 1), t}};
  return {{places.inside(at - 1), far_weight(t)},
          {places.inside(at), near_weight(t)},
          {places.inside(at + 1), near_weight(1 - t)},
          {places.inside(at + 2), far_weight(1 - t)}};
}

Tensor weighted(const Tensor &x, int64_t axis, const Tensor &weight) {
  if (!weight.defined()) return x;
  Shape along;
  for (int64_t i = 0; i < x.ndim(); ++i) along.push_back(i == axis ? weight.numel() : 1);
  return x * reshape(weight, along);
}

}  // namespace

Tensor sampled(const Tensor &x, int64_t axis, int64_t size, int32_t mode, bool align_corners, IntList step) {
  const Places places = places_of(x.device(), x.size(axis), size, mode, align_corners, step);
  Tensor y;
  for (const Tap &tap : taps_of(places, mode, x.dtype())) {
    const Tensor part = weighted(picked(x, axis, tap.index), axis, tap.weight);
    y = y.defined() ? y + part : part;
  }
  return y;
}

Tensor sampled_backward(const Tensor &dy, int64_t axis, int64_t size, int32_t mode, bool align_corners, IntList step) {
  const Places places = places_of(dy.device(), size, dy.size(axis), mode, align_corners, step);
  Tensor dx = zeros(with_size(dy.shape(), axis, size), dy.dtype(), dy.device());
  for (const Tap &tap : taps_of(places, mode, dy.dtype())) {
    Shape along;
    for (int64_t i = 0; i < dy.ndim(); ++i) along.push_back(i == axis ? dy.size(axis) : 1);
    const Tensor index = expand(reshape(tap.index, along), dy.shape());
    dx = scatter(dx, index, weighted(dy, axis, tap.weight), axis, DG_SCATTER_REDUCE_ADD);
  }
  return dx;
}

// ---- borders

static Tensor border(const Tensor &t, int64_t axis, bool before, int64_t count, int32_t mode) {
  const int64_t size = t.size(axis);
  if (mode == DG_BORDER_PAD_MODE_REFLECT)
    return flip_view(slice(t, axis, before ? 1 : size - 1 - count, count, 1), axis);
  if (mode == DG_BORDER_PAD_MODE_CIRCULAR) return slice(t, axis, before ? size - count : 0, count, 1);
  return expand(slice(t, axis, before ? 0 : size - 1, 1, 1), with_size(t.shape(), axis, count));
}

Tensor bordered(const Tensor &x, IntList padding, int32_t mode) {
  Tensor t = x;
  for (int64_t axis = 0; axis < x.ndim(); ++axis) {
    const int64_t before = padding[size_t(2 * axis)], after = padding[size_t(2 * axis) + 1];
    const int64_t skipped = std::max<int64_t>(-before, 0), cut = std::max<int64_t>(-after, 0);
    if (skipped + cut) t = slice(t, axis, skipped, t.size(axis) - skipped - cut, 1);
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(border(t, axis, true, before, mode));
    parts.push_back(t);
    if (after > 0) parts.push_back(border(t, axis, false, after, mode));
    if (parts.size() > 1) t = cat(parts, axis);
  }
  return t;
}

}  // namespace dougong::ops
