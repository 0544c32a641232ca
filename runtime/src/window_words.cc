// Convolutions and pools over three axes, and the sums of windows.
// SPDX-License-Identifier: Apache-2.0
#include "window_words.h"

#include "decompositions.h"

namespace dougong::ops {

static Shape tail(IntList list) { return Shape(list.data + 1, list.count - 1); }

// The windows over depth of (n, c, d, h, w) as images (n * places, c * kernel, h, w).
static Tensor depth_as_channels(const Tensor &x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const Tensor whole = padding ? pad(x, Shape{0, 0, 0, 0, padding, padding, 0, 0, 0, 0}, Scalar(0)) : x;
  const int64_t places = window_count(x.size(2), kernel, stride, padding, dilation);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < kernel; ++k)
    parts.push_back(unsqueeze(transpose(slice(whole, 2, k * dilation, places, stride), 1, 2), 3));
  return reshape(cat(parts, 3), Shape{x.size(0) * places, x.size(1) * kernel, x.size(3), x.size(4)});
}

Tensor convolved_by_depth(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                          IntList dilation, int64_t groups) {
  const Shape wanted = convolved(x.shape(), weight.shape(), stride, padding, dilation), w = weight.shape();
  const Tensor images = depth_as_channels(x, w[2], stride[0], padding[0], dilation[0]);
  const Tensor flat = reshape(weight, Shape{w[0], w[1] * w[2], w[3], w[4]});
  const Tensor y = conv2d(images, flat, bias, tail(stride), tail(padding), tail(dilation), groups);
  return transpose(reshape(y, Shape{wanted[0], wanted[2], wanted[1], wanted[3], wanted[4]}), 1, 2);
}

static Tensor with_bias(const Tensor &y, const Tensor &bias) {
  if (!bias.defined()) return y;
  Shape shape{bias.numel()};
  for (int64_t axis = 2; axis < y.ndim(); ++axis) shape.push_back(1);
  return y + reshape(bias, shape);
}

// Without padding first where output_padding is beyond what conv2d leaves over; then cut or continued by zeros.
Tensor spread_images(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                     IntList output_padding, IntList dilation, int64_t groups) {
  const Tensor a = wide(x), w = wide(weight);
  const bool short_end = output_padding[0] < stride[0] && output_padding[1] < stride[1];
  const Shape none{0, 0}, borders = short_end ? Shape(padding) : none, ends = short_end ? Shape(output_padding) : none;
  const Shape shape = spread(x.shape(), w.shape(), stride, borders, ends, dilation, groups);
  Tensor y = conv2d_backward_input(a, w, shape, stride, borders, dilation, groups);
  if (!short_end)
    y = pad(y,
            Shape{0, 0, 0, 0, -padding[0], output_padding[0] - padding[0], -padding[1], output_padding[1] - padding[1]},
            Scalar(0));
  return with_bias(y, wide(bias));
}

Tensor spread_volumes(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                      IntList output_padding, IntList dilation, int64_t groups) {
  const Shape w = weight.shape();
  const int64_t n = x.size(0), depth = x.size(2), outputs = w[1] * groups;
  const Tensor images = reshape(transpose(wide(x), 1, 2), Shape{n * depth, x.size(1), x.size(3), x.size(4)});
  const Tensor flat = reshape(wide(weight), Shape{w[0], w[1] * w[2], w[3], w[4]});
  const Tensor planes =
      spread_images(images, flat, Tensor(), tail(stride), tail(padding), tail(output_padding), tail(dilation), groups);
  const Tensor parts = reshape(planes, Shape{n, depth, outputs, w[2], planes.size(2), planes.size(3)});
  const Shape whole{n, (depth - 1) * stride[0] + dilation[0] * (w[2] - 1) + 1, outputs, planes.size(2), planes.size(3)};
  Tensor y;
  for (int64_t k = 0; k < w[2]; ++k) {
    const Tensor placed = slice_backward(select(parts, 3, k), whole, 1, k * dilation[0], stride[0]);
    y = y.defined() ? y + placed : placed;
  }
  y = pad(y, Shape{0, 0, -padding[0], output_padding[0] - padding[0], 0, 0, 0, 0, 0, 0}, Scalar(0));
  return with_bias(transpose(y, 1, 2), wide(bias));
}

Outputs max_pool_by_depth(const Tensor &x, IntList window, IntList stride, IntList padding, IntList dilation,
                          bool ceil_mode) {
  const Shape s = x.shape(), wanted = pooled(s, window, stride, padding, dilation, ceil_mode);
  const int64_t places = wanted[3] * wanted[4];
  const Outputs planes = max_pool2d(reshape(x, Shape{s[0], s[1] * s[2], s[3], s[4]}), tail(window), tail(stride),
                                    tail(padding), tail(dilation), ceil_mode);
  const Shape columns{s[0], s[1], s[2], places};
  Outputs result = max_pool2d(reshape(planes[0], columns), Shape{window[0], 1}, Shape{stride[0], 1},
                              Shape{padding[0], 0}, Shape{dilation[0], 1}, ceil_mode);
  const Tensor within = gather(reshape(planes[1], Shape{s[0], s[1], s[2] * places}),
                               reshape(result[1], Shape{s[0], s[1], wanted[2] * places}), 2);
  const Tensor depth = floor_divide(result[1], Scalar(places));
  result[0] = reshape(result[0], wanted);
  result[1] = reshape(depth, wanted) * Scalar(s[3] * s[4]) + reshape(within, wanted);
  return result;
}

Tensor mean_by_depth(const Tensor &x, IntList window, IntList stride, IntList padding, bool ceil_mode,
                     bool count_include_pad, int64_t divisor_override) {
  const Shape s = x.shape(), wanted = pooled(s, window, stride, padding, Shape{1, 1, 1}, ceil_mode);
  const Tensor planes = avg_pool2d(reshape(x, Shape{s[0], s[1] * s[2], s[3], s[4]}), tail(window), tail(stride),
                                   tail(padding), ceil_mode, count_include_pad, divisor_override ? 1 : 0);
  const Tensor columns = reshape(planes, Shape{s[0], s[1], s[2], wanted[3] * wanted[4]});
  const Tensor y = avg_pool2d(columns, Shape{window[0], 1}, Shape{stride[0], 1}, Shape{padding[0], 0}, ceil_mode,
                              count_include_pad, divisor_override);
  return reshape(y, wanted);
}

// How far the last windows reach beyond the axes and the padding before them; less than nothing is a part of the axis
// that no window holds.
static Shape ends_beyond(const Shape &shape, IntList window, IntList stride, IntList padding, bool ceil_mode) {
  const Shape y = pooled(shape, window, stride, padding, Shape{1, 1}, ceil_mode);
  Shape ends;
  for (int64_t i = 0; i < 2; ++i)
    ends.push_back((y[2 + i] - 1) * stride[size_t(i)] + window[size_t(i)] - padding[size_t(i)] - shape[2 + i]);
  return ends;
}

static Tensor ones(IntList window, const Tensor &like) {
  return full(Shape{1, 1, window[0], window[1]}, Scalar(1), like.dtype(), like.device());
}

Tensor window_sums(const Tensor &x, IntList window, IntList stride, IntList padding, bool ceil_mode) {
  const Shape s = x.shape(), ends = ends_beyond(s, window, stride, padding, ceil_mode), none{0, 0}, one{1, 1};
  const Tensor whole = pad(x, Shape{0, 0, 0, 0, padding[0], ends[0], padding[1], ends[1]}, Scalar(0));
  const Tensor planes = reshape(whole, Shape{s[0] * s[1], 1, whole.size(2), whole.size(3)});
  const Tensor y = conv2d(planes, ones(window, x), Tensor(), stride, none, one, 1);
  return reshape(y, pooled(s, window, stride, padding, one, ceil_mode));
}

Tensor shared_by_windows(const Tensor &dy, const Shape &shape, IntList window, IntList stride, IntList padding,
                         bool ceil_mode) {
  const Shape s = dy.shape(), ends = ends_beyond(shape, window, stride, padding, ceil_mode), none{0, 0}, one{1, 1};
  const Shape whole{s[0] * s[1], 1, padding[0] + shape[2] + ends[0], padding[1] + shape[3] + ends[1]};
  const Tensor planes = reshape(dy, Shape{s[0] * s[1], 1, s[2], s[3]});
  const Tensor dx = conv2d_backward_input(planes, ones(window, dy), whole, stride, none, one, 1);
  return reshape(pad(dx, Shape{0, 0, 0, 0, -padding[0], -ends[0], -padding[1], -ends[1]}, Scalar(0)), shape);
}

// The divisors along one axis.
static Tensor lengths(const Tensor &like, int64_t size, int64_t count, int64_t window, int64_t stride, int64_t padding,
                      bool count_include_pad) {
  const Tensor start = arange(Scalar(-padding), Scalar(stride), count, DG_DTYPE_INT64, like.device());
  const Tensor end = minimum(start + Scalar(window), Scalar(count_include_pad ? size + padding : size));
  return cast(end - (count_include_pad ? start : maximum(start, 0)), accumulator(like.dtype()));
}

Tensor window_areas(const Tensor &like, const Shape &shape, IntList window, IntList stride, IntList padding,
                    bool ceil_mode, bool count_include_pad, int64_t divisor_override) {
  const bool alike = !ceil_mode && (count_include_pad || (padding[0] == 0 && padding[1] == 0));
  const int64_t divisor = divisor_override ? divisor_override : window[0] * window[1];
  if (divisor_override || alike) return full(Shape{}, Scalar(divisor), accumulator(like.dtype()), like.device());
  const Shape y = pooled(shape, window, stride, padding, Shape{1, 1}, ceil_mode);
  const Tensor rows = lengths(like, shape[2], y[2], window[0], stride[0], padding[0], count_include_pad);
  const Tensor columns = lengths(like, shape[3], y[3], window[1], stride[1], padding[1], count_include_pad);
  return unsqueeze(rows, 1) * columns;
}

}  // namespace dougong::ops
