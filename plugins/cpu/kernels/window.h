// Parts of tensors, as tensors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.h"

namespace dougong::cpu {

// The part of a tensor that begins at `start[axis]` and has `size[axis]` elements on each axis. It borrows the strides.
struct Window {
  dg_tensor_t tensor;
  int64_t shape[DG_MAX_NDIM];

  explicit Window(const dg_tensor_t &whole) : tensor(whole) {
    for (int32_t axis = 0; axis < whole.ndim; ++axis) shape[axis] = whole.shape[axis];
    tensor.shape = shape;
  }
  Window(const Window &) = delete;

  void narrow(int32_t axis, int64_t start, int64_t size) {
    shape[axis] = size;
    tensor.byte_offset += uint64_t(start * tensor.strides[axis] * item_size(tensor));
  }
};

}  // namespace dougong::cpu
