// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "../parallel.h"
#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

// y = (x - mean) * rstd * weight + bias for one row; the mean in two parts, so that a great one costs no digits.
template <class C>
static void normalise_row(const C *x, C *y, int64_t n, double mean, C rstd, const C *weight, const C *bias) {
  C high = C(mean), low = C(mean - double(high));
  auto normal = [=](C item) { return ((item - high) - low) * rstd; };
  vectorised([=] {
    if (weight && bias)
      for (int64_t i = 0; i < n; ++i) y[i] = normal(x[i]) * weight[i] + bias[i];
    else if (weight)
      for (int64_t i = 0; i < n; ++i) y[i] = normal(x[i]) * weight[i];
    else if (bias)
      for (int64_t i = 0; i < n; ++i) y[i] = normal(x[i]) + bias[i];
    else
      for (int64_t i = 0; i < n; ++i) y[i] = normal(x[i]);
  });
}

// The mean and the mean of squared distances from it.
template <class C>
static void moments(const C *x, int64_t n, double *mean, double *variance) {
  vectorised([=] {
    double centre = sum_row(x, n) / double(n);
    *mean = centre;
    *variance = sum_of_squares(x, n, centre) / double(n);
  });
}

template <class C>
static void normalise(const dg_kernel_call_t *call, int64_t n, double epsilon) {
  DenseInput<C> x(call->inputs[0]), weight(call->inputs[1]), bias(call->inputs[2]);
  DenseOutput<C> y(*call->outputs[0]), means(*call->outputs[1]), rstds(*call->outputs[2]);
  int64_t rows = element_count(*call->outputs[1]);
  parallel_for(rows, n > 0 ? (parallel_grain + n - 1) / n : 1, 1, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      double mean = 0, variance = 0;
      moments(x.data() + row * n, n, &mean, &variance);
      means.data()[row] = C(mean);
      rstds.data()[row] = C(1.0 / std::sqrt(variance + epsilon));
      normalise_row(x.data() + row * n, y.data() + row * n, n, mean, rstds.data()[row], weight.data(), bias.data());
    }
  });
  y.finish(), means.finish(), rstds.finish();
}

static dg_status_t layer_norm_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_layer_norm_attributes_t>(call);
  const dg_tensor_t &x = *call->inputs[0];
  int64_t n = 1;
  for (int64_t i = 0; i < a.axes; ++i) n *= x.shape[x.ndim - 1 - i];
  return with_float(dtype_of(x.dtype), [&](auto type) {
    normalise<Compute<decltype(type)>>(call, n, a.epsilon);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_layer_norm = kernel(DG_OP_LAYER_NORM, any_layout, guarded<layer_norm_launch>);

}  // namespace dougong::cpu
