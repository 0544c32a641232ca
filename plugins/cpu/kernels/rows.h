// Rows along one axis of tensors of one shape, read and written in chunks: softmax and its kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nest.h"
#include "simd.h"
#include "strided.h"

namespace dougong::cpu {

// The elements of one tensor along the axis.
template <class T>
class AxisRow {
 public:
  using C = Compute<T>;
  AxisRow(char *data, int64_t stride, Dtype dtype) : data_(data), stride_(stride), dtype_(dtype) {}

  bool direct() const { return sizeof(T) == sizeof(C) && stride_ == int64_t(sizeof(T)); }

  // The chunk [first, first + count) as values, in `buffer` unless it lies densely in memory.
  const C *read(int64_t first, int64_t count, C *buffer) const {
    if (direct()) return reinterpret_cast<const C *>(data_) + first;
    load(buffer, data_ + first * stride_, stride_, count, dtype_, true);
    return buffer;
  }
  // Where to put the chunk; then written() brings it to the tensor.
  C *place(int64_t first, C *buffer) const { return direct() ? reinterpret_cast<C *>(data_) + first : buffer; }
  void written(int64_t first, int64_t count, const C *buffer) const {
    if (!direct()) store(data_ + first * stride_, stride_, buffer, count, dtype_, true);
  }

 private:
  char *data_;
  int64_t stride_;
  Dtype dtype_;
};

// f(first, count) for each chunk of a row.
template <class F>
void each_chunk(int64_t size, F &&f) {
  for (int64_t first = 0; first < size; first += chunk_size)
    f(first, size - first < chunk_size ? size - first : chunk_size);
}

// f(row of the output, row of input 0, ...) for each row along `axis`; all tensors have the shape of the output.
template <class T, int N, class F>
void each_axis_row(const dg_kernel_call_t *call, int64_t axis, F &&f) {
  const dg_tensor_t *tensor[N] = {call->outputs[0]};
  for (int i = 1; i < N; ++i) tensor[i] = call->inputs[i - 1];
  const dg_tensor_t &y = *tensor[0];
  Nest<N> nest;
  char *base[N];
  int64_t along[N];
  for (int i = 0; i < N; ++i) {
    base[i] = address(*tensor[i]);
    along[i] = y.ndim > 0 && y.shape[axis] > 1 ? tensor[i]->strides[axis] * int64_t(sizeof(T)) : int64_t(sizeof(T));
  }
  for (int32_t other = 0; other < y.ndim; ++other) {
    if (other == axis) continue;
    int64_t strides[N];
    for (int i = 0; i < N; ++i) strides[i] = tensor[i]->strides[other] * int64_t(sizeof(T));
    nest.add_axis(y.shape[other], strides);
  }
  nest.finish();
  Dtype dtype = dtype_of(y.dtype);
  nest.each_row(base, [&](char *const(&pointer)[N]) {
    for (int64_t i = 0; i < nest.row_size(); ++i) {
      auto row = [&](int which) {
        return AxisRow<T>(pointer[which] + i * nest.row_stride()[which], along[which], dtype);
      };
      if constexpr (N == 2)
        f(row(0), row(1));
      else
        f(row(0), row(1), row(2));
    }
  });
}

// The size of a row: a scalar is a row of one.
inline int64_t row_length(const dg_kernel_call_t *call, int64_t axis) {
  const dg_tensor_t &y = *call->outputs[0];
  return y.ndim > 0 ? y.shape[axis] : 1;
}

// A buffer of one chunk.
template <class C>
struct alignas(64) Chunk {
  C items[chunk_size];
};

}  // namespace dougong::cpu
