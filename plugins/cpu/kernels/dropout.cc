// SPDX-License-Identifier: Apache-2.0
#include "uniform.h"

namespace dougong::cpu {

// Elements in row-major order, whatever the layouts, each with its own number.
template <class T>
static void drop(const dg_tensor_t &x, const dg_tensor_t &y, double p, RandomSequence<Uniform, float> *numbers) {
  using C = Compute<T>;
  constexpr int64_t item = sizeof(T);
  Nest<2> nest;
  for (int32_t axis = 0; axis < y.ndim; ++axis)
    nest.add_axis(y.shape[axis], {x.strides[axis] * item, y.strides[axis] * item});
  nest.finish();
  Dtype dtype = dtype_of(y.dtype);
  float limit = float(p);
  C scale = p < 1 ? C(1 / (1 - p)) : C(1), values[chunk_size], *data = values;
  float drawn[chunk_size], *number = drawn;
  nest.each_row({address(x), address(y)}, [&](char *const(&pointer)[2]) {
    int64_t from = nest.row_stride()[0], to = nest.row_stride()[1];
    for (int64_t first = 0; first < nest.row_size(); first += chunk_size) {
      int64_t left = nest.row_size() - first, n = left < chunk_size ? left : chunk_size;
      numbers->take(drawn, n);
      load(values, pointer[0] + first * from, from, n, dtype, true);
      vectorised([=] {
        for (int64_t i = 0; i < n; ++i) data[i] = number[i] < limit ? C(0) : data[i] * scale;
      });
      store(pointer[1] + first * to, to, values, n, dtype, true);
    }
  });
}

static dg_status_t dropout_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_dropout_attributes_t>(call);
  RandomSequence<Uniform, float> numbers(a.seed, a.offset);
  return with_float(dtype_of(call->outputs[0]->dtype), [&](auto type) {
    drop<decltype(type)>(*call->inputs[0], *call->outputs[0], a.p, &numbers);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_dropout = kernel(DG_OP_DROPOUT, any_layout, dropout_launch);

}  // namespace dougong::cpu
