// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

namespace dougong::cpu {

// For a block of queries with weights w, and dw = dy values^T: dscores = w (dw - sum over keys of w dw).
template <class C>
struct AttentionGradient {
  Attention<C> attention;
  DenseInput<C> dy;
  DenseOutput<C> dquery, dkey, dvalue, dbias;
  int64_t bias_size;
  Scratch<C> weights, dscores, factors;
  Scratch<double> bias_sums;

  AttentionGradient(const dg_kernel_call_t *call, double scale, bool causal)
      : attention(call, 1, scale, causal),
        dy(call->inputs[0]),
        dquery(*call->outputs[0]),
        dkey(*call->outputs[1]),
        dvalue(*call->outputs[2]),
        dbias(*call->outputs[3]),
        bias_size(element_count(*call->outputs[3])),
        weights(attention.block() * padded(attention.keys)),
        dscores(attention.block() * padded(attention.keys)),
        factors(attention.block()),
        bias_sums(bias_size) {
    for (int64_t i = element_count(*call->outputs[1]); i-- > 0;) dkey.data()[i] = 0;
    for (int64_t i = element_count(*call->outputs[2]); i-- > 0;) dvalue.data()[i] = 0;
    for (int64_t i = 0; i < bias_size; ++i) bias_sums[i] = 0;
  }

  // The weights times their factors, and from dw to dscores, times the scale but for the bias.
  void soften_backward(int64_t head, int64_t first, int64_t rows, int64_t keys) {
    C *all_weights = weights.data(), *all_scores = dscores.data(), *by = factors.data();
    int64_t stride = padded(keys), row_step = attention.bias.row_stride, step = attention.bias.column_stride;
    double *sums = attention.bias ? bias_sums.data() + attention.offset(attention.bias, head) : nullptr;
    vectorised([=, scale = attention.scale] {
      for (int64_t i = 0; i < rows; ++i) {
        C *w = all_weights + i * stride, *d = all_scores + i * stride, factor = by[i];
        for (int64_t j = keys; j < stride; ++j) d[j] = 0;
        for (int64_t j = 0; j < stride; ++j) w[j] *= factor;
        C average = fold_padded(stride, C(0), [=](int64_t j) { return w[j] * d[j]; }, [](C a, C b) { return a + b; });
        for (int64_t j = 0; j < stride; ++j) d[j] = w[j] * (d[j] - average);
        if (sums)
          for (int64_t j = 0; j < keys; ++j) sums[(first + i) * row_step + j * step] += double(d[j]);
        for (int64_t j = 0; j < stride; ++j) d[j] *= scale;
      }
    });
  }

  void add_block(int64_t head, int64_t first, int64_t rows) {
    const Attention<C> &a = attention;
    int64_t keys = a.seen(first + rows - 1), n = a.features, m = a.value_features, place = head * a.queries + first;
    int64_t stride = padded(keys), shared = head / a.group * a.keys;
    Matrix<const C> g{dy.data() + place * m, m, 1};
    Matrix<const C> w{weights.data(), stride, 1}, d{dscores.data(), stride, 1};
    a.weights(head, first, rows, keys, weights.data(), factors.data());
    gemm(rows, keys, m, g, a.values_of(head).transposed(), Matrix<C>{dscores.data(), stride, 1}, false);
    soften_backward(head, first, rows, keys);
    gemm(keys, m, rows, w.transposed(), g, Matrix<C>{dvalue.data() + shared * m, m, 1}, true);
    gemm(rows, n, keys, d, a.keys_of(head), Matrix<C>{dquery.data() + place * n, n, 1}, false);
    gemm(keys, n, rows, d.transposed(), a.queries_of(head, first), Matrix<C>{dkey.data() + shared * n, n, 1}, true);
  }

  void run() {
    int64_t block = attention.block(), queries = attention.queries;
    for (int64_t head = 0; head < attention.heads; ++head)
      for (int64_t first = 0; first < queries; first += block)
        add_block(head, first, queries - first < block ? queries - first : block);
    for (int64_t i = 0; i < bias_size; ++i) dbias.data()[i] = C(bias_sums[i]);
    dquery.finish(), dkey.finish(), dvalue.finish(), dbias.finish();
  }
};

static dg_status_t attention_backward_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_scaled_dot_product_attention_backward_attributes_t>(call);
  return with_float(dtype_of(call->inputs[1]->dtype), [&](auto type) {
    AttentionGradient<Compute<decltype(type)>>(call, a.scale, a.causal != 0).run();
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_scaled_dot_product_attention_backward =
    kernel(DG_OP_SCALED_DOT_PRODUCT_ATTENTION_BACKWARD, any_layout, guarded<attention_backward_launch>);

}  // namespace dougong::cpu
