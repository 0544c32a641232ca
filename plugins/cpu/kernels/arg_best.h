// The place of the greatest or the least element along an axis: argmax and argmin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduce.h"

namespace dougong::cpu {

template <class C>
struct Place {
  C best;
  int64_t index;
};

// Folds one axis: the place of the first NaN, else of the first best element, among those seen so far.
template <class T, class Order>
int64_t best_place(const Reduction &r, char *x) {
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
      bool better = first + i == 0 || (Order::better(item, place.best) && place.best == place.best);
      if (better) place = {item, first + i};
    }
  }
  return place.index;
}

// The launch of both.
template <class Order, class Attributes>
dg_status_t arg_best_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<Attributes>(call);
  size_t axes = call->inputs[0]->ndim > 0 ? 1 : 0;
  Reduction r(*call->inputs[0], *call->outputs[0], &a.axis, axes, a.keepdim);
  auto [x_stride, y_stride] = r.kept.row_stride();
  return with_dtype(r.dtype, [&](auto type) {
    r.kept.each_row({r.x, r.y}, [&, x_stride = x_stride, y_stride = y_stride](char *const(&pointer)[2]) {
      for (int64_t i = 0; i < r.kept.row_size(); ++i) {
        int64_t index = best_place<decltype(type), Order>(r, pointer[0] + i * x_stride);
        std::memcpy(pointer[1] + i * y_stride, &index, sizeof index);
      }
    });
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
