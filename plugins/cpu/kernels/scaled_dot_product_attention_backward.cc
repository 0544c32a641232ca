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
  Scratch<C> weights, dscores;
  Scratch<double> bias_sums;

  AttentionGradient(const dg_kernel_call_t *call, double scale, bool causal)
      : attention(call, 1, scale, causal),
        dy(call->inputs[0]),
        dquery(*call->outputs[0]),
        dkey(*call->outputs[1]),
        dvalue(*call->outputs[2]),
        dbias(*call->outputs[3]),
        bias_size(element_count(*call->outputs[3])),
        weights(attention.block() * attention.keys),
        dscores(attention.block() * attention.keys),
        bias_sums(bias_size) {
    for (int64_t i = element_count(*call->outputs[1]); i-- > 0;) dkey.data()[i] = 0;
    for (int64_t i = element_count(*call->outputs[2]); i-- > 0;) dvalue.data()[i] = 0;
    for (int64_t i = 0; i < bias_size; ++i) bias_sums[i] = 0;
  }

  // From dw to dscores, times the scale but for the bias.
  void soften_backward(int64_t head, int64_t first, int64_t rows, int64_t keys) {
    for (int64_t i = 0; i < rows; ++i) {
      const C *w = weights.data() + i * keys;
      C *d = dscores.data() + i * keys;
      C scale = attention.scale;
      double *sums = attention.bias ? bias_sums.data() + attention.offset(attention.bias, head) +
                                          (first + i) * attention.bias.row_stride
                                    : nullptr;
      vectorised([=, step = attention.bias.column_stride] {
        C average = C(dot_row(w, static_cast<const C *>(d), keys));
        for (int64_t j = 0; j < keys; ++j) d[j] = w[j] * (d[j] - average);
        if (sums)
          for (int64_t j = 0; j < keys; ++j) sums[j * step] += double(d[j]);
        for (int64_t j = 0; j < keys; ++j) d[j] *= scale;
      });
    }
  }

  void add_block(int64_t head, int64_t first, int64_t rows) {
    const Attention<C> &a = attention;
    int64_t keys = a.seen(first + rows - 1), n = a.features, m = a.value_features, place = head * a.queries + first;
    Matrix<const C> g{dy.data() + place * m, m, 1};
    Matrix<const C> w{weights.data(), keys, 1}, d{dscores.data(), keys, 1};
    a.weights(head, first, rows, keys, weights.data());
    gemm(rows, keys, m, g, a.values_of(head).transposed(), Matrix<C>{dscores.data(), keys, 1}, false);
    soften_backward(head, first, rows, keys);
    int64_t shared = head / a.group * a.keys;
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
