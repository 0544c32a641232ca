// Loops over tensors of one shape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <cstdint>

namespace dougong::cpu {

// As few nested loops as the strides of N tensors allow: axes that continue each other in all of them are one loop.
template <int N>
struct Nest {
  int32_t ndim = 0;
  int64_t shape[DG_MAX_NDIM + 1];
  int64_t stride[DG_MAX_NDIM + 1][N];  // bytes

  // From the outermost axis to the innermost.
  void add_axis(int64_t size, const int64_t (&strides)[N]) {
    if (size == 1) return;
    if (ndim > 0 && continues(size, strides)) {
      shape[ndim - 1] *= size;
      for (int i = 0; i < N; ++i) stride[ndim - 1][i] = strides[i];
      return;
    }
    shape[ndim] = size;
    for (int i = 0; i < N; ++i) stride[ndim][i] = strides[i];
    ++ndim;
  }

  // Call after the last axis: a scalar is a row of one element.
  void finish() {
    if (ndim > 0) return;
    shape[0] = 1;
    for (int i = 0; i < N; ++i) stride[0][i] = 0;
    ndim = 1;
  }

  int64_t row_size() const { return shape[ndim - 1]; }
  const int64_t (&row_stride() const)[N] { return stride[ndim - 1]; }
  int64_t size() const {
    int64_t total = 1;
    for (int32_t axis = 0; axis < ndim; ++axis) total *= shape[axis];
    return total;
  }

  // f(char *const (&pointers)[N]) for the beginning of each row, in row-major order.
  template <class F>
  void each_row(char *const (&base)[N], F &&f) const {
    char *pointer[N];
    int64_t index[DG_MAX_NDIM + 1] = {};
    for (int i = 0; i < N; ++i) pointer[i] = base[i];
    for (int32_t axis = 0; axis < ndim; ++axis) {
      if (shape[axis] == 0) return;
    }
    for (;;) {
      f(pointer);
      int32_t axis = ndim - 2;
      for (; axis >= 0; --axis) {
        for (int i = 0; i < N; ++i) pointer[i] += stride[axis][i];
        if (++index[axis] < shape[axis]) break;
        for (int i = 0; i < N; ++i) pointer[i] -= stride[axis][i] * shape[axis];
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

 private:
  bool continues(int64_t size, const int64_t (&strides)[N]) const {
    for (int i = 0; i < N; ++i) {
      if (stride[ndim - 1][i] != strides[i] * size) return false;
    }
    return true;
  }
};

}  // namespace dougong::cpu
