// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

template <class C>
static void normalise(const dg_kernel_call_t *call, int64_t n, double epsilon) {
  DenseInput<C> x(call->inputs[0]), weight(call->inputs[1]);
  DenseOutput<C> y(*call->outputs[0]);
  int64_t rows = n ? element_count(*call->outputs[0]) / n : 0;
  const C *w = weight.data();
  for (int64_t row = 0; row < rows; ++row) {
    const C *from = x.data() + row * n;
    C *to = y.data() + row * n;
    vectorised([=] {
      C scale = C(1.0 / std::sqrt(dot_row(from, from, n) / double(n) + epsilon));
      if (w)
        for (int64_t i = 0; i < n; ++i) to[i] = from[i] * scale * w[i];
      else
        for (int64_t i = 0; i < n; ++i) to[i] = from[i] * scale;
    });
  }
  y.finish();
}

static dg_status_t rms_norm_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_rms_norm_attributes_t>(call);
  const dg_tensor_t &x = *call->inputs[0];
  int64_t n = 1;
  for (int64_t i = 0; i < a.axes; ++i) n *= x.shape[x.ndim - 1 - i];
  return with_float(dtype_of(x.dtype), [&](auto type) {
    normalise<Compute<decltype(type)>>(call, n, a.epsilon);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_rms_norm = kernel(DG_OP_RMS_NORM, any_layout, guarded<rms_norm_launch>);

}  // namespace dougong::cpu
