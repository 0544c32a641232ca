// SPDX-License-Identifier: Apache-2.0
#include "dense.h"

namespace dougong::cpu {

// One axis of the windows: place(o, k) is where element k of window o lies.
struct PoolAxis {
  int64_t size, count, kernel, stride, padding, dilation;

  PoolAxis(const dg_max_pool2d_attributes_t &a, int i, int64_t size, int64_t count)
      : size(size),
        count(count),
        kernel(a.kernel_size[i]),
        stride(a.stride[i]),
        padding(a.padding[i]),
        dilation(a.dilation[i]) {}
  int64_t place(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
  bool inside(int64_t place) const { return place >= 0 && place < size; }
};

// The first greatest element of a window, the first NaN before all. The runtime admits no window of padding alone; one
// that comes all the same gives -inf and the index -1.
template <class C>
static void pool_window(const C *image, const PoolAxis &rows, const PoolAxis &columns, int64_t r, int64_t c, C *y,
                        int64_t *index) {
  C best = -std::numeric_limits<C>::infinity();
  int64_t at = -1;
  for (int64_t i = 0; i < rows.kernel; ++i) {
    int64_t row = rows.place(r, i);
    if (!rows.inside(row)) continue;
    for (int64_t j = 0; j < columns.kernel; ++j) {
      int64_t column = columns.place(c, j);
      if (!columns.inside(column)) continue;
      C item = image[row * columns.size + column];
      if (at < 0 || item > best || (item != item && best == best)) best = item, at = row * columns.size + column;
    }
  }
  *y = best, *index = at;
}

template <class C>
static void pool(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_max_pool2d_attributes_t>(call);
  const dg_tensor_t &tx = *call->inputs[0], &ty = *call->outputs[0];
  DenseInput<C> x(&tx);
  DenseOutput<C> y(ty);
  DenseOutput<int64_t> indices(*call->outputs[1]);
  PoolAxis rows(a, 0, tx.shape[2], ty.shape[2]), columns(a, 1, tx.shape[3], ty.shape[3]);
  int64_t images = ty.shape[0] * ty.shape[1], at = 0;
  for (int64_t image = 0; image < images; ++image) {
    const C *plane = x.data() + image * rows.size * columns.size;
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t c = 0; c < columns.count; ++c, ++at)
        pool_window(plane, rows, columns, r, c, y.data() + at, indices.data() + at);
    }
  }
  y.finish(), indices.finish();
}

static dg_status_t max_pool2d_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    pool<Compute<decltype(type)>>(call);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_max_pool2d = kernel(DG_OP_MAX_POOL2D, any_layout, guarded<max_pool2d_launch>);

}  // namespace dougong::cpu
