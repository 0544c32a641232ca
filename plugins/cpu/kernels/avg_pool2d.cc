// SPDX-License-Identifier: Apache-2.0
#include "avg_pool.h"

namespace dougong::cpu {

// The sum of the rows of a window, for each column of the image.
template <class C>
static void add_rows(const C *plane, const AvgAxis &rows, int64_t r, int64_t width, C *total) {
  vectorised([=] {
    for (int64_t c = 0; c < width; ++c) total[c] = C(0);
    for (int64_t row = rows.begin(r); row < rows.end(r); ++row) {
      const C *from = plane + row * width;
      for (int64_t c = 0; c < width; ++c) total[c] += from[c];
    }
  });
}

template <class C>
static void average(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_avg_pool2d_attributes_t>(call);
  const dg_tensor_t &tx = *call->inputs[0], &ty = *call->outputs[0];
  DenseInput<C> x(&tx);
  DenseOutput<C> y(ty);
  AvgAxis rows(a, 0, tx.shape[2], ty.shape[2]), columns(a, 1, tx.shape[3], ty.shape[3]);
  Scratch<C> total;
  total.allocate(columns.size);
  C *to = y.data();
  for (int64_t image = 0; image < ty.shape[0] * ty.shape[1]; ++image) {
    for (int64_t r = 0; r < rows.count; ++r) {
      add_rows(x.data() + image * rows.size * columns.size, rows, r, columns.size, total.data());
      for (int64_t c = 0; c < columns.count; ++c) {
        C sum = C(0);
        for (int64_t k = columns.begin(c); k < columns.end(c); ++k) sum += total.data()[k];
        *to++ = sum / avg_divisor<C>(a, rows, columns, r, c);
      }
    }
  }
  y.finish();
}

static dg_status_t avg_pool2d_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    average<Compute<decltype(type)>>(call);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_avg_pool2d = kernel(DG_OP_AVG_POOL2D, any_layout, guarded<avg_pool2d_launch>);

}  // namespace dougong::cpu
