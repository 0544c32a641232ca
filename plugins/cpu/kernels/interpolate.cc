// SPDX-License-Identifier: Apache-2.0
#include "interpolate.h"

namespace dougong::cpu {

// One row of the result: weighted rows of x.
template <class C>
static void blend(const C *x, int64_t inner, const int64_t *index, const C *weight, int taps, C *y) {
  vectorised([=] {
    const C *first = x + index[0] * inner;
    if (taps == 1) {
      for (int64_t i = 0; i < inner; ++i) y[i] = first[i];
      return;
    }
    for (int64_t i = 0; i < inner; ++i) y[i] = weight[0] * first[i];
    for (int k = 1; k < taps; ++k) {
      const C *from = x + index[k] * inner;
      for (int64_t i = 0; i < inner; ++i) y[i] += weight[k] * from[i];
    }
  });
}

// A result whose rows are single elements.
template <class C, int taps>
static void blend_along(const C *x, const Taps<C> &all, int64_t count, C *y) {
  const int64_t *index = all.index(0);
  const C *weight = all.weight(0);
  for (int64_t o = 0; o < count; ++o, index += taps, weight += taps) {
    C sum = taps == 1 ? x[index[0]] : weight[0] * x[index[0]];
    for (int k = 1; k < taps; ++k) sum += weight[k] * x[index[k]];
    y[o] = sum;
  }
}

template <class C>
static void sample(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_interpolate_attributes_t>(call);
  const dg_tensor_t &tx = *call->inputs[0], &ty = *call->outputs[0];
  DenseInput<C> x(&tx);
  DenseOutput<C> y(ty);
  SampledAxis s(tx, a.axis, tx.shape[a.axis], a.size);
  Taps<C> taps(a, s.old, s.count);
  for (int64_t outer = 0; outer < s.outer; ++outer) {
    const C *from = x.data() + outer * s.old * s.inner;
    C *to = y.data() + outer * s.count * s.inner;
    if (s.inner == 1) {
      auto along = taps.count == 1 ? blend_along<C, 1> : taps.count == 2 ? blend_along<C, 2> : blend_along<C, 4>;
      along(from, taps, s.count, to);
      continue;
    }
    for (int64_t o = 0; o < s.count; ++o)
      blend(from, s.inner, taps.index(o), taps.weight(o), taps.count, to + o * s.inner);
  }
  y.finish();
}

static dg_status_t interpolate_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    sample<Compute<decltype(type)>>(call);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_interpolate = kernel(DG_OP_INTERPOLATE, any_layout, guarded<interpolate_launch>);

}  // namespace dougong::cpu
