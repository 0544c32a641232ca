// SPDX-License-Identifier: Apache-2.0
#include "indices.h"

namespace dougong::cpu {

// The place of row `row` in row-major order of all axes but the last.
static char *row_of(const dg_tensor_t &tensor, int64_t row) {
  int64_t offset = 0;
  for (int32_t axis = tensor.ndim - 1; axis-- > 0;) {
    offset += row % tensor.shape[axis] * tensor.strides[axis];
    row /= tensor.shape[axis];
  }
  return address(tensor) + offset * item_size(tensor);
}

static dg_status_t embedding_launch(const dg_kernel_call_t *call) {
  const dg_tensor_t &weight = *call->inputs[0], &y = *call->outputs[0];
  Indices index(*call->inputs[1]);
  dg_status_t status = index.normalise(weight.shape[0], "embedding");
  if (status != DG_STATUS_OK) return status;
  int64_t size = item_size(y), width = weight.shape[1];
  int64_t to_stride = width > 1 ? y.strides[y.ndim - 1] * size : size,
          from_stride = width > 1 ? weight.strides[1] * size : size;
  int64_t row_stride = weight.shape[0] > 1 ? weight.strides[0] * size : 0;
  bool is_bool = y.dtype == DG_DTYPE_BOOL, dense = to_stride == size && from_stride == size && !is_bool;
  for (int64_t i = 0; i < index.count; ++i) {
    char *to = row_of(y, i);
    const char *from = address(weight) + index.data[i] * row_stride;
    if (dense)
      std::memcpy(to, from, size_t(width * size));
    else
      for (int64_t j = 0; j < width; ++j) move_item(to + j * to_stride, from + j * from_stride, size, is_bool);
  }
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_embedding = kernel(DG_OP_EMBEDDING, any_layout, guarded<embedding_launch>);

}  // namespace dougong::cpu
