// Folds that keep every step: cumsum and cumprod.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduce.h"
#include "rows.h"

namespace dougong::cpu {

template <class T, class F>
void scan_rows(const dg_kernel_call_t *call, int64_t axis) {
  using C = Compute<T>;
  int64_t size = row_length(call, axis);
  each_axis_row<T, 2>(call, axis, [&](const AxisRow<T> &y, const AxisRow<T> &x) {
    Chunk<C> in, out;
    Sum<C> state(F::identity);  // of a sum -0, which leaves every first element as it is
    each_chunk(size, [&](int64_t first, int64_t count) {
      const C *from = x.read(first, count, in.items);
      C *to = y.place(first, out.items);
      for (int64_t i = 0; i < count; ++i) {
        state = F::combine(state, Sum<C>(from[i]));
        if constexpr (sizeof(T) == 2)
          to[i] = round_to_odd(state);
        else
          to[i] = C(state);
      }
      y.written(first, count, to);
    });
  });
}

// State by state, in float64, or of integers modulo 2^64. Throws bad_alloc.
template <class F, class Attributes>
dg_status_t scan_launch(const dg_kernel_call_t *call) {
  int64_t axis = attributes<Attributes>(call).axis;
  Dtype dtype = dtype_of(call->outputs[0]->dtype);
  if (dtype == I64) {
    scan_rows<int64_t, F>(call, axis);
    return DG_STATUS_OK;
  }
  return with_float(dtype, [&](auto type) {
    scan_rows<decltype(type), F>(call, axis);
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
