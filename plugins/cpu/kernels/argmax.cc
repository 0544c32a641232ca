// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

template <class C>
struct Place {
  C best;
  int64_t index;
};

// Folds one axis: the place of the first NaN, else of the first greatest element, among those seen so far.
template <class T>
static int64_t argmax_row(const Reduction &r, char *x) {
  using C = Compute<T>;
  using V = decltype(value(T()));
  alignas(64) C buffer[chunk_size];
  int64_t stride = r.folded.row_stride()[0], size = r.folded.row_size();
  Place<V> place{};
  for (int64_t first = 0; first < size; first += chunk_size) {
    int64_t n = size - first < chunk_size ? size - first : chunk_size;
    load(buffer, x + first * stride, stride, n, r.dtype, true);
    for (int64_t i = 0; i < n; ++i) {
      V item = value(buffer[i]);
      bool better = first + i == 0 || item > place.best || (item != item && place.best == place.best);
      if (better) place = {item, first + i};
    }
  }
  return place.index;
}

static dg_status_t argmax_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_argmax_attributes_t>(call);
  size_t axes = call->inputs[0]->ndim > 0 ? 1 : 0;
  Reduction r(*call->inputs[0], *call->outputs[0], &a.axis, axes, a.keepdim);
  auto [x_stride, y_stride] = r.kept.row_stride();
  return with_dtype(r.dtype, [&](auto type) {
    r.kept.each_row({r.x, r.y}, [&, x_stride = x_stride, y_stride = y_stride](char *const(&pointer)[2]) {
      for (int64_t i = 0; i < r.kept.row_size(); ++i) {
        int64_t index = argmax_row<decltype(type)>(r, pointer[0] + i * x_stride);
        std::memcpy(pointer[1] + i * y_stride, &index, sizeof index);
      }
    });
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_argmax = kernel(DG_OP_ARGMAX, any_layout, argmax_launch);

}  // namespace dougong::cpu
