// Rows along one axis of tensors of one shape, read and written in chunks: softmax and its kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../parallel.h"
#include "nest.h"
#include "scratch.h"
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

// f(rows) for the rows that begin at the places of the nest.
template <class T, int N, class F>
void walk_part(const Nest<N> &nest, char *const (&base)[N], const int64_t (&along)[N], Dtype dtype, F &f) {
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

// On several threads: f(row of tensor 0, row of tensor 1, ...) for each row along `axis` of tensors of one shape.
template <class T, int N, class F>
void walk_rows(const dg_tensor_t (&tensor)[N], int64_t axis, F &&f) {
  const dg_tensor_t &y = tensor[0];
  Nest<N> nest;
  char *base[N];
  int64_t along[N];
  for (int i = 0; i < N; ++i) {
    base[i] = address(tensor[i]);
    along[i] = y.ndim > 0 && y.shape[axis] > 1 ? tensor[i].strides[axis] * int64_t(sizeof(T)) : int64_t(sizeof(T));
  }
  for (int32_t other = 0; other < y.ndim; ++other) {
    if (other == axis) continue;
    int64_t strides[N];
    for (int i = 0; i < N; ++i) strides[i] = tensor[i].strides[other] * int64_t(sizeof(T));
    nest.add_axis(y.shape[other], strides);
  }
  nest.finish();
  const int64_t length = y.ndim > 0 ? y.shape[axis] : 1, outer = nest.shape[0];
  const int64_t inner = outer > 0 ? nest.size() / outer * length : 0;
  parallel_for(outer, inner > 0 ? (parallel_grain + inner - 1) / inner : 1, 1, [&](int64_t first, int64_t end) {
    Nest<N> part = nest;
    part.shape[0] = end - first;
    char *start[N];
    for (int i = 0; i < N; ++i) start[i] = base[i] + first * nest.stride[0][i];
    walk_part<T>(part, start, along, dtype_of(y.dtype), f);
  });
}

// A tensor with `axis` as the last one, and a dense copy of that.
template <class T>
struct Turned {
  dg_tensor_t view, dense;
  int64_t shape[DG_MAX_NDIM], strides[DG_MAX_NDIM], dense_strides[DG_MAX_NDIM];
  Scratch<T> copy;

  void turn(const dg_tensor_t &tensor, int64_t axis) {
    int32_t last = tensor.ndim - 1;
    for (int32_t i = 0; i <= last; ++i) {
      int32_t from = i == last ? int32_t(axis) : i < axis ? i : i + 1;
      shape[i] = tensor.shape[from], strides[i] = tensor.strides[from];
    }
    int64_t size = 1;
    for (int32_t i = last; i >= 0; size *= shape[i--]) dense_strides[i] = size;
    copy.allocate(size);
    view = dense = tensor;
    view.shape = dense.shape = shape, view.strides = strides;
    dense.strides = dense_strides, dense.data = copy.data(), dense.byte_offset = 0;
  }
};

// The same for the output and the inputs of a call. Long rows across a large tensor would bring a page for each
// element: they are walked in dense copies. Throws bad_alloc.
template <class T, int N, class F>
void each_axis_row(const dg_kernel_call_t *call, int64_t axis, F &&f) {
  dg_tensor_t tensor[N] = {*call->outputs[0]};
  for (int i = 1; i < N; ++i) tensor[i] = *call->inputs[i - 1];
  constexpr int64_t long_row = 32, large = 1 << 16;
  bool across = tensor[0].ndim > 1 && tensor[0].shape[axis] >= long_row && tensor[0].strides[axis] != 1 &&
                tensor[1].strides[axis] != 1 && element_count(tensor[0]) >= large;
  if (!across) return walk_rows<T>(tensor, axis, f);
  Turned<T> turned[N];
  for (int i = 0; i < N; ++i) {
    turned[i].turn(tensor[i], axis);
    if (i > 0) copy_tensor(turned[i].dense, turned[i].view);
    tensor[i] = turned[i].dense;
  }
  walk_rows<T>(tensor, tensor[0].ndim - 1, f);
  copy_tensor(turned[0].view, turned[0].dense);
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
