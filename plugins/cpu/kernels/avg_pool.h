// The windows of avg_pool2d along one axis.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dense.h"

namespace dougong::cpu {

struct AvgAxis {
  int64_t size, count, kernel, stride, padding;
  bool include;

  template <class Attributes>
  AvgAxis(const Attributes &a, int i, int64_t size, int64_t count)
      : size(size),
        count(count),
        kernel(a.kernel_size[i]),
        stride(a.stride[i]),
        padding(a.padding[i]),
        include(a.count_include_pad != 0) {}

  int64_t begin(int64_t o) const { return o * stride < padding ? 0 : o * stride - padding; }
  int64_t end(int64_t o) const {
    int64_t end = o * stride - padding + kernel;
    return end < size ? end : size;
  }
  // How many elements count: padding too, but not what a last window holds beyond it.
  int64_t length(int64_t o) const {
    if (!include) return end(o) - begin(o);
    int64_t start = o * stride, room = size + 2 * padding - start;
    return kernel < room ? kernel : room;
  }
};

// What the sum of a window is divided by.
template <class C, class Attributes>
C avg_divisor(const Attributes &a, const AvgAxis &rows, const AvgAxis &columns, int64_t r, int64_t c) {
  return C(a.divisor_override > 0 ? a.divisor_override : rows.length(r) * columns.length(c));
}

}  // namespace dougong::cpu
