// SPDX-License-Identifier: Apache-2.0
#include "decompositions.h"

namespace dougong::ops {

Tensor wide(const Tensor &tensor) {
  if (!tensor.defined()) return tensor;
  const dg_dtype_t dtype = accumulator(tensor.dtype());
  return dtype == tensor.dtype() || !is_floating(tensor.dtype()) ? tensor : cast(tensor, dtype);
}

Shape first_axes(int64_t count) { return last_axes(count, count); }

Shape last_axes(int64_t ndim, int64_t count) {
  Shape axes;
  for (int64_t axis = ndim - count; axis < ndim; ++axis) axes.push_back(axis);
  return axes;
}

int64_t count_of(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

}  // namespace dougong::ops
