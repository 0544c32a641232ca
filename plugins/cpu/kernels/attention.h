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

// Rows of scores lie `stride` apart, a multiple of all vector widths; what is behind the keys is hidden like masked
// keys.
constexpr int64_t padding = 16;
inline int64_t padded(int64_t count) { return (count + padding - 1) / padding * padding; }

// A fold of a padded row: rows are often short, so that the end must be cheap.
template <class C, class Item, class Combine>
inline C fold_padded(int64_t stride, C identity, const Item &item, const Combine &combine) {
  alignas(64) C lanes[padding];
  for (int64_t j = 0; j < padding; ++j) lanes[j] = identity;
  for (int64_t first = 0; first < stride; first += padding)
    for (int64_t j = 0; j < padding; ++j) lanes[j] = combine(lanes[j], item(first + j));
#pragma GCC unroll 4
  for (int64_t half = padding / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
  return lanes[0];
}

// A row of scores that becomes exp(scores - the greatest), scaled, biased and masked.
template <class C>
struct ScoreRow {
  C *scores;
  int64_t stride, seen;  // those behind `seen` are hidden
  C scale;
  const C *bias;
  int64_t bias_step;
  const uint8_t *mask;
  int64_t mask_step;

  void prepare() const {
    for (int64_t j = 0; j < stride; ++j) scores[j] *= scale;
    if (bias)
      for (int64_t j = 0; j < seen; ++j) scores[j] += bias[j * bias_step];
    if (mask)
      for (int64_t j = 0; j < seen; ++j) scores[j] = mask[j * mask_step] ? scores[j] : lowest();
  }
  static C lowest() { return -std::numeric_limits<C>::infinity(); }

  // What each weight is to be multiplied by: one over their sum.
  C exponentials() const {
    for (int64_t j = seen; j < stride; ++j) scores[j] = lowest();
    bool plain = !bias && !mask && scale > 0;
    if (!plain) prepare();
    C factor = plain ? scale : C(1), *row = scores;
    C top = fold_padded(
        stride, lowest(), [=](int64_t j) { return row[j]; }, [](C a, C b) { return Greatest::better(a, b) ? a : b; });
    bool unseen = top == lowest();
    top = unseen ? C(0) : top;
#pragma GCC ivdep
    for (int64_t j = 0; j < stride; ++j) row[j] = exp((row[j] - top) * factor);
    C sum = fold_padded(stride, C(0), [=](int64_t j) { return row[j]; }, [](C a, C b) { return a + b; });
    return unseen ? C(1) : C(1) / sum;
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

  // How many queries are worked on at a time: more pack keys and values less often, but their scores must stay in the
  // cache, and in the order of time a block computes scores that nobody sees.
  int64_t block() const {
    const int64_t cached = 1 << 17, most = causal ? 64 : 256, least = 8;
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

  // For queries first .. first + rows - 1 and the first `count` keys: weights, each row yet to be multiplied by its
  // factor. Rows lie padded(count) apart, with zeros behind the keys.
  void weights(int64_t head, int64_t first, int64_t rows, int64_t count, C *out, C *factors) const {
    int64_t stride = padded(count);
    gemm(rows, count, features, queries_of(head, first), keys_of(head).transposed(), Matrix<C>{out, stride, 1}, false);
    const uint8_t *hidden = mask ? mask.dense.data() + offset(mask, head) : nullptr;
    const C *added = bias ? bias.dense.data() + offset(bias, head) : nullptr;
    vectorised([=] {
      for (int64_t i = 0; i < rows; ++i) {
        int64_t row = first + i;
        ScoreRow<C> line{out + i * stride,
                         stride,
                         seen(row),
                         scale,
                         added ? added + row * bias.row_stride : nullptr,
                         bias.column_stride,
                         hidden ? hidden + row * mask.row_stride : nullptr,
                         mask.column_stride};
        factors[i] = line.exponentials();
      }
    });
  }
};

// Each of some rows times its factor.
template <class C>
void scale_rows(C *data, int64_t rows, int64_t width, const C *factors) {
  vectorised([=] {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < width; ++j) data[i * width + j] *= factors[i];
  });
}

}  // namespace dougong::cpu
