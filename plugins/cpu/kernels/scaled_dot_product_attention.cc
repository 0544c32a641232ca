// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

namespace dougong::cpu {

template <class C>
static void attend(const dg_kernel_call_t *call, double scale, bool causal) {
  Attention<C> attention(call, 0, scale, causal);
  DenseOutput<C> y(*call->outputs[0]);
  int64_t block = attention.block(), queries = attention.queries, width = attention.value_features;
  Scratch<C> weights(block * padded(attention.keys)), factors(block);
  for (int64_t head = 0; head < attention.heads; ++head) {
    for (int64_t first = 0; first < queries; first += block) {
      int64_t rows = queries - first < block ? queries - first : block, keys = attention.seen(first + rows - 1);
      C *out = y.data() + (head * queries + first) * width;
      attention.weights(head, first, rows, keys, weights.data(), factors.data());
      gemm(rows, width, keys, Matrix<const C>{weights.data(), padded(keys), 1}, attention.values_of(head),
           Matrix<C>{out, width, 1}, false);
      scale_rows(out, rows, width, factors.data());
    }
  }
  y.finish();
}

static dg_status_t scaled_dot_product_attention_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_scaled_dot_product_attention_attributes_t>(call);
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    attend<Compute<decltype(type)>>(call, a.scale, a.causal != 0);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_scaled_dot_product_attention =
    kernel(DG_OP_SCALED_DOT_PRODUCT_ATTENTION, any_layout, guarded<scaled_dot_product_attention_launch>);

}  // namespace dougong::cpu
