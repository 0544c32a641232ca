// SPDX-License-Identifier: Apache-2.0
#include "window_rules.h"

#include "shape_rules.h"

namespace dougong::ops {

int64_t pool_count(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  if (!ceil_mode) return window_count(size, window, stride, padding, dilation);
  const int64_t room = size + 2 * padding - dilation * (window - 1) - 1;
  const int64_t count = (room + stride - 1) / stride + 1;
  return count - int64_t((count - 1) * stride >= size + padding);
}

bool windows_fit(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation,
                 bool ceil_mode) {
  const Shape sizes = trailing(shape, int64_t(window.size()));
  for (size_t i = 0; i < window.size(); ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 || window[i] < 1) return false;
    const int64_t room = sizes[int64_t(i)] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1;
    if (room + (ceil_mode ? stride[i] - 1 : 0) < 0) return false;
  }
  return true;
}

// The first element of the window that begins at `start` and does not lie before the axis is inside it.
static bool meets(int64_t start, int64_t size, int64_t window, int64_t dilation) {
  const int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
  return skipped < window && start + skipped * dilation < size;
}

bool windows_meet(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  const Shape sizes = trailing(shape, int64_t(window.size()));
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t size = sizes[int64_t(i)];
    const int64_t count = pool_count(size, window[i], stride[i], padding[i], dilation[i], ceil_mode);
    if (!meets((count - 1) * stride[i] - padding[i], size, window[i], dilation[i])) return false;
    for (int64_t start = -padding[i], o = 0; start < 0 && o < count; start += stride[i], ++o)
      if (!meets(start, size, window[i], dilation[i])) return false;
  }
  return true;
}

Shape pooled(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
  Shape result = shape;
  const int64_t first = int64_t(shape.size()) - int64_t(window.size());
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t &size = result[first + int64_t(i)];
    size = pool_count(size, window[i], stride[i], padding[i], dilation[i], ceil_mode);
  }
  return result;
}

Shape convolved(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList dilation) {
  Shape result = pooled(x, trailing(weight, int64_t(weight.size()) - 2), stride, padding, dilation, false);
  result[1] = weight[0];
  return result;
}

bool spreads(IntList stride, IntList padding, IntList output_padding, IntList dilation) {
  for (size_t i = 0; i < stride.size(); ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) return false;
    if (output_padding[i] < 0 || output_padding[i] >= std::max(stride[i], dilation[i])) return false;
  }
  return true;
}

Shape spread(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList output_padding,
             IntList dilation, int64_t groups) {
  Shape result{x[0], weight[1] * groups};
  for (size_t i = 0; i < stride.size(); ++i) {
    const auto axis = int64_t(i) + 2;
    const int64_t reach = dilation[i] * (weight[axis] - 1) + 1;
    result.push_back((x[axis] - 1) * stride[i] + reach + output_padding[i] - 2 * padding[i]);
  }
  return result;
}

bool not_small(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList output_padding,
               IntList dilation, int64_t groups) {
  const Shape y = spread(x, weight, stride, padding, output_padding, dilation, groups);
  for (size_t i = 1; i < y.size(); ++i)
    if (y.data()[i] < 1 || x.data()[i] < 1 || weight.data()[i] < 1) return false;
  return weight[0] > 0;
}

bool pieces_fit(const Shape &shape, IntList sizes) {
  const Shape old = trailing(shape, int64_t(sizes.size()));
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }) &&
         std::all_of(old.begin(), old.end(), [](int64_t size) { return size > 0; });
}

Shape resized(const Shape &shape, IntList sizes) { return joined(leading(shape, int64_t(sizes.size())), sizes); }

Shape with_size(const Shape &shape, int64_t axis, int64_t size) {
  Shape result = shape;
  result[axis] = size;
  return result;
}

bool border_fits(const Shape &shape, IntList padding, bool reflect, bool circular) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t before = padding[2 * i], after = padding[2 * i + 1];
    const int64_t kept = shape.data()[i] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    const int64_t longest = std::max<int64_t>({before, after, 0});
    if (kept < 0 || (longest > 0 && kept < (reflect ? longest + 1 : circular ? longest : 1))) return false;
  }
  return true;
}

}  // namespace dougong::ops
