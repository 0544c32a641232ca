// Attention in blocks of queries: what the forward and the backward kernel share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../gemm.h"
#include "dense.h"
#include "simd.h"
#include "vector_math.h"

namespace dougong::cpu {

// An optional tensor that broadcasts to the scores (..., queries, keys), as a dense array. T is uint8_t for a mask.
template <class T>
struct ScorePart {
  DenseInput<T> dense;
  int64_t batch_strides[DG_MAX_NDIM] = {}, row_stride = 0, column_stride = 0;

  // `ndim` is that of the scores.
  ScorePart(const dg_tensor_t *tensor, int32_t ndim) : dense(tensor) {
    if (!tensor) return;
    int64_t stride = 1;
    for (int32_t axis = tensor->ndim; axis-- > 0;) {
      int64_t size = tensor->shape[axis], step = size == 1 ? 0 : stride;
      int32_t place = axis + ndim - tensor->ndim;
      (place == ndim - 1 ? column_stride : place == ndim - 2 ? row_stride : batch_strides[place]) = step;
      stride *= size;
    }
  }
  explicit operator bool() const { return dense.data() != nullptr; }
};

// A row of scores that becomes weights: scaled, biased, masked, and put through softmax.
template <class C>
struct ScoreRow {
  C *scores;
  int64_t keys, seen;  // those behind `seen` are hidden by the order in time
  C scale;
  const C *bias;
  int64_t bias_step;
  const uint8_t *mask;
  int64_t mask_step;

  void prepare() const {
    for (int64_t j = 0; j < seen; ++j) scores[j] *= scale;
    if (bias)
      for (int64_t j = 0; j < seen; ++j) scores[j] += bias[j * bias_step];
    if (mask)
      for (int64_t j = 0; j < seen; ++j)
        scores[j] = mask[j * mask_step] ? scores[j] : -std::numeric_limits<C>::infinity();
  }

  void soften() const {
    prepare();
    C top = best_of_row<Greatest>(static_cast<const C *>(scores), seen);
    bool unseen = top == -std::numeric_limits<C>::infinity();
    top = unseen ? C(0) : top;
    for (int64_t j = 0; j < seen; ++j) scores[j] = exp(scores[j] - top);
    double sum = sum_row(static_cast<const C *>(scores), seen);
    C factor = unseen ? C(1) : C(1.0 / sum);
    for (int64_t j = 0; j < seen; ++j) scores[j] *= factor;
    for (int64_t j = seen; j < keys; ++j) scores[j] = 0;
  }
};

template <class C>
struct Attention {
  const dg_tensor_t &query_tensor, &key_tensor;
  int64_t queries, keys, features, value_features, heads, group;
  DenseInput<C> query, key, value;
  ScorePart<uint8_t> mask;
  ScorePart<C> bias;
  C scale;
  bool causal;

  // `first` is the place of query among the inputs; key, value, mask and bias follow.
  Attention(const dg_kernel_call_t *call, int first, double scale, bool causal)
      : query_tensor(*call->inputs[first]),
        key_tensor(*call->inputs[first + 1]),
        queries(query_tensor.shape[query_tensor.ndim - 2]),
        keys(key_tensor.shape[key_tensor.ndim - 2]),
        features(query_tensor.shape[query_tensor.ndim - 1]),
        value_features(call->inputs[first + 2]->shape[query_tensor.ndim - 1]),
        heads(1),
        query(call->inputs[first]),
        key(call->inputs[first + 1]),
        value(call->inputs[first + 2]),
        mask(call->inputs[first + 3], query_tensor.ndim),
        bias(call->inputs[first + 4], query_tensor.ndim),
        scale(C(scale)),
        causal(causal) {
    int32_t ndim = query_tensor.ndim;
    for (int32_t axis = 0; axis < ndim - 2; ++axis) heads *= query_tensor.shape[axis];
    group = ndim > 2 && key_tensor.shape[ndim - 3] > 0 ? query_tensor.shape[ndim - 3] / key_tensor.shape[ndim - 3] : 1;
  }

  // How many queries are worked on at a time: their scores stay in the cache.
  int64_t block() const {
    constexpr int64_t cached = 1 << 16, most = 64, least = 8;
    int64_t rows = cached / (keys > 0 ? keys : 1);
    return rows > most ? most : rows < least ? least : rows;
  }
  int64_t seen(int64_t row) const { return causal && row + 1 < keys ? row + 1 : keys; }

  Matrix<const C> queries_of(int64_t head, int64_t row) const {
    return {query.data() + (head * queries + row) * features, features, 1};
  }
  Matrix<const C> keys_of(int64_t head) const { return {key.data() + head / group * keys * features, features, 1}; }
  Matrix<const C> values_of(int64_t head) const {
    return {value.data() + head / group * keys * value_features, value_features, 1};
  }

  template <class T>
  int64_t offset(const ScorePart<T> &part, int64_t head) const {
    int64_t offset = 0;
    for (int32_t axis = query_tensor.ndim - 2; axis-- > 0; head /= query_tensor.shape[axis])
      offset += head % query_tensor.shape[axis] * part.batch_strides[axis];
    return offset;
  }

  // The weights of queries first .. first + rows - 1 over the first `count` keys, rows `count` apart.
  void weights(int64_t head, int64_t first, int64_t rows, int64_t count, C *out) const {
    gemm(rows, count, features, queries_of(head, first), keys_of(head).transposed(), Matrix<C>{out, count, 1}, false);
    const uint8_t *hidden = mask ? mask.dense.data() + offset(mask, head) : nullptr;
    const C *added = bias ? bias.dense.data() + offset(bias, head) : nullptr;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t row = first + i;
      ScoreRow<C> line{out + i * count,
                       count,
                       seen(row),
                       scale,
                       added ? added + row * bias.row_stride : nullptr,
                       bias.column_stride,
                       hidden ? hidden + row * mask.row_stride : nullptr,
                       mask.column_stride};
      vectorised([=] { line.soften(); });
    }
  }
};

}  // namespace dougong::cpu
