// SPDX-License-Identifier: Apache-2.0
#include "avg_pool.h"

namespace dougong::cpu {

// Adds a row to each row of a window.
template <class C>
static void share_row(C *plane, const AvgAxis &rows, int64_t r, int64_t width, const C *share) {
  vectorised([=] {
    for (int64_t row = rows.begin(r); row < rows.end(r); ++row) {
      C *to = plane + row * width;
      for (int64_t c = 0; c < width; ++c) to[c] += share[c];
    }
  });
}

template <class C>
static void share(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_avg_pool2d_backward_attributes_t>(call);
  const dg_tensor_t &tdy = *call->inputs[0], &tdx = *call->outputs[0];
  DenseInput<C> dy(&tdy);
  DenseOutput<C> dx(tdx);
  AvgAxis rows(a, 0, tdx.shape[2], tdy.shape[2]), columns(a, 1, tdx.shape[3], tdy.shape[3]);
  Scratch<C> row;
  row.allocate(columns.size);
  const C *from = dy.data();
  for (int64_t i = 0; i < element_count(tdx); ++i) dx.data()[i] = C(0);
  for (int64_t image = 0; image < tdx.shape[0] * tdx.shape[1]; ++image) {
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t c = 0; c < columns.size; ++c) row.data()[c] = C(0);
      for (int64_t c = 0; c < columns.count; ++c) {
        C part = *from++ / avg_divisor<C>(a, rows, columns, r, c);
        for (int64_t k = columns.begin(c); k < columns.end(c); ++k) row.data()[k] += part;
      }
      share_row(dx.data() + image * rows.size * columns.size, rows, r, columns.size, row.data());
    }
  }
  dx.finish();
}

static dg_status_t avg_pool2d_backward_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    share<Compute<decltype(type)>>(call);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_avg_pool2d_backward =
    kernel(DG_OP_AVG_POOL2D_BACKWARD, any_layout, guarded<avg_pool2d_backward_launch>);

}  // namespace dougong::cpu
