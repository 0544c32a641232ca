// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

// Writes rows of indices until `count` rows are there; those beyond the last that was found are 0.
template <class T>
static void find_rows(const T *x, int64_t size, const dg_tensor_t &tensor, int64_t *rows, int64_t count) {
  int64_t index[DG_MAX_NDIM] = {}, found = 0;
  for (int64_t i = 0; i < size && found < count; ++i) {
    if (value(x[i]) != 0) {
      for (int32_t axis = 0; axis < tensor.ndim; ++axis) *rows++ = index[axis];
      ++found;
    }
    for (int32_t axis = tensor.ndim; axis-- > 0;) {
      if (++index[axis] < tensor.shape[axis]) break;
      index[axis] = 0;
    }
  }
  for (int64_t rest = (count - found) * tensor.ndim; rest > 0; --rest) *rows++ = 0;
}

static dg_status_t nonzero_launch(const dg_kernel_call_t *call) {
  const dg_tensor_t &x = *call->inputs[0], &y = *call->outputs[0];
  int64_t size = element_count(x);
  Scratch<char> items(size * item_size(x));
  Scratch<int64_t> rows(element_count(y));
  load_tensor(items.data(), x, false);
  with_dtype(dtype_of(x.dtype), [&](auto type) {
    using T = decltype(type);
    find_rows(reinterpret_cast<const T *>(items.data()), size, x, rows.data(), y.shape[0]);
    return DG_STATUS_OK;
  });
  store_tensor(y, rows.data(), false);
  return DG_STATUS_OK;
}

extern const dg_kernel_t dg_kernel_nonzero = kernel(DG_OP_NONZERO, any_layout, guarded<nonzero_launch>);

}  // namespace dougong::cpu
