// SPDX-License-Identifier: Apache-2.0
#include "interpolate.h"

namespace dougong::cpu {

// Adds one row of dy, weighted, to the rows that it was made of.
template <class C>
static void give_back(const C *dy, int64_t inner, const int64_t *index, const C *weight, int taps, C *dx) {
  vectorised([=] {
    for (int k = 0; k < taps; ++k) {
      C *to = dx + index[k] * inner, factor = weight[k];
      for (int64_t i = 0; i < inner; ++i) to[i] += factor * dy[i];
    }
  });
}

template <class C>
static void spread(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_interpolate_backward_attributes_t>(call);
  const dg_tensor_t &tdy = *call->inputs[0], &tdx = *call->outputs[0];
  DenseInput<C> dy(&tdy);
  DenseOutput<C> dx(tdx);
  SampledAxis s(tdy, a.axis, a.size, tdy.shape[a.axis]);
  Taps<C> taps(a, s.old, s.count);
  for (int64_t i = 0; i < element_count(tdx); ++i) dx.data()[i] = C(0);
  for (int64_t outer = 0; outer < s.outer; ++outer) {
    const C *from = dy.data() + outer * s.count * s.inner;
    C *to = dx.data() + outer * s.old * s.inner;
    for (int64_t o = 0; o < s.count; ++o) {
      if (s.inner > 1)
        give_back(from + o * s.inner, s.inner, taps.index(o), taps.weight(o), taps.count, to);
      else
        for (int k = 0; k < taps.count; ++k) to[taps.index(o)[k]] += taps.weight(o)[k] * from[o];
    }
  }
  dx.finish();
}

static dg_status_t interpolate_backward_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    spread<Compute<decltype(type)>>(call);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_interpolate_backward =
    kernel(DG_OP_INTERPOLATE_BACKWARD, any_layout, guarded<interpolate_backward_launch>);

}  // namespace dougong::cpu
