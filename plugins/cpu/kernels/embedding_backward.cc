// SPDX-License-Identifier: Apache-2.0
#include "dense.h"
#include "indices.h"

namespace dougong::cpu {

template <class C>
static void add_rows(const dg_kernel_call_t *call, const Indices &index, int64_t rows, int64_t width) {
  DenseInput<C> dy(call->inputs[0]);
  DenseOutput<C> dweight(*call->outputs[0]);
  for (int64_t i = 0; i < rows * width; ++i) dweight.data()[i] = C(0);
  for (int64_t i = 0; i < index.count; ++i) {
    C *to = dweight.data() + index.data[i] * width;
    const C *from = dy.data() + i * width;
    vectorised([=] {
      for (int64_t j = 0; j < width; ++j) to[j] += from[j];
    });
  }
  dweight.finish();
}

static dg_status_t embedding_backward_launch(const dg_kernel_call_t *call) {
  int64_t rows = attributes<dg_embedding_backward_attributes_t>(call).rows;
  const dg_tensor_t &dy = *call->inputs[0];
  Indices index(*call->inputs[1]);
  dg_status_t status = index.normalise(rows, "embedding_backward");
  if (status != DG_STATUS_OK) return status;
  return with_float(dtype_of(dy.dtype), [&](auto type) {
    add_rows<Compute<decltype(type)>>(call, index, rows, dy.shape[dy.ndim - 1]);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_embedding_backward =
    kernel(DG_OP_EMBEDDING_BACKWARD, any_layout, guarded<embedding_backward_launch>);

}  // namespace dougong::cpu
