// Tensors (batch, channels, ...) as rows that belong to one channel each: batch_norm and its gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

// How the elements of a channel lie: `rows` rows of `size` elements, `stride` apart. Where images are too small for
// rows of their own, channels come first: each is one row.
struct ChannelRows {
  int64_t channels, rows, size, stride, channel_stride;
  bool turned;

  explicit ChannelRows(const dg_tensor_t &x) : channels(x.shape[1]), rows(x.shape[0]), size(1) {
    constexpr int64_t small = 16;
    for (int32_t axis = 2; axis < x.ndim; ++axis) size *= x.shape[axis];
    turned = size < small;
    if (turned) size *= rows, rows = size > 0;
    stride = turned ? size : channels * size, channel_stride = size;
  }
  int64_t count() const { return rows * size; }
  int64_t place(int64_t channel, int64_t row) const { return channel * channel_stride + row * stride; }
};

// The tensor with its first two axes exchanged where the rows are turned.
struct ChannelView {
  dg_tensor_t tensor;
  int64_t shape[DG_MAX_NDIM], strides[DG_MAX_NDIM];

  ChannelView(const dg_tensor_t &from, bool turned) : tensor(from) {
    for (int32_t axis = 0; axis < from.ndim; ++axis) {
      int32_t source = turned && axis < 2 ? 1 - axis : axis;
      shape[axis] = from.shape[source], strides[axis] = from.strides[source];
    }
    tensor.shape = shape, tensor.strides = strides;
  }
  ChannelView(const ChannelView &) = delete;
  ChannelView &operator=(const ChannelView &) = delete;
};

// A value in two parts of the type that is computed in, so that a great mean costs no digits.
template <class C>
struct Centre {
  C high, low;
  explicit Centre(double value) : high(C(value)), low(C(value - double(high))) {}
  C distance(C item) const { return (item - high) - low; }
};

}  // namespace dougong::cpu
