// SPDX-License-Identifier: Apache-2.0
#include "dense.h"

namespace dougong::cpu {

// Indices must lie in the image; -1 marks a window that held only padding.
static dg_status_t check(const int64_t *index, int64_t count, int64_t image) {
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] < -1 || index[i] >= image)
      return fail(DG_STATUS_OUT_OF_RANGE,
                  "max_pool2d_backward: index %lld at position %lld is outside the image of %lld elements; nothing was "
                  "written",
                  static_cast<long long>(index[i]), static_cast<long long>(i), static_cast<long long>(image));
  }
  return DG_STATUS_OK;
}

template <class C>
static dg_status_t spread(const dg_kernel_call_t *call) {
  const dg_tensor_t &tdy = *call->inputs[0], &tdx = *call->outputs[0];
  DenseInput<C> dy(&tdy);
  DenseInput<int64_t> indices(call->inputs[1]);
  int64_t image = tdx.shape[2] * tdx.shape[3], windows = tdy.shape[2] * tdy.shape[3];
  int64_t images = tdx.shape[0] * tdx.shape[1];
  dg_status_t status = check(indices.data(), element_count(tdy), image);
  if (status != DG_STATUS_OK) return status;
  DenseOutput<C> dx(tdx);
  for (int64_t i = 0; i < images * image; ++i) dx.data()[i] = C(0);
  for (int64_t i = 0; i < images * windows; ++i) {
    if (indices.data()[i] >= 0) dx.data()[i / windows * image + indices.data()[i]] += dy.data()[i];
  }
  dx.finish();
  return DG_STATUS_OK;
}

static dg_status_t max_pool2d_backward_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) { return spread<Compute<decltype(type)>>(call); });
}

extern const dg_kernel_t dg_kernel_max_pool2d_backward =
    kernel(DG_OP_MAX_POOL2D_BACKWARD, any_layout, guarded<max_pool2d_backward_launch>);

}  // namespace dougong::cpu
