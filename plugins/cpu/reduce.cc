// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce.h"

namespace dougong::cpu {

static bool contains(const int64_t *axis, size_t count, int64_t wanted) {
  if (!axis) return true;
  for (size_t i = 0; i < count; ++i) {
    if (axis[i] == wanted) return true;
  }
  return false;
}

Reduction::Reduction(const dg_tensor_t &x, const dg_tensor_t &y, const int64_t *axis, size_t axis_count, bool keepdim)
    : x(address(x)), y(address(y)), dtype(dtype_of(x.dtype)) {
  int64_t x_size = item_size(x), y_size = item_size(y);
  int32_t y_axis = 0;
  for (int32_t i = 0; i < x.ndim; ++i) {
    if (contains(axis, axis_count, i)) {
      folded.add_axis(x.shape[i], {x.strides[i] * x_size});
      y_axis += keepdim;
    } else {
      kept.add_axis(x.shape[i], {x.strides[i] * x_size, y.strides[y_axis++] * y_size});
    }
  }
  kept.finish();
  folded.finish();
  count = folded.size();
}

}  // namespace dougong::cpu
