// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

// With g = dy * weight: dx = rstd * (g - x * rstd^2 * mean(g x)), for one row.
template <class C>
struct RmsRow {
  const C *dy, *x, *weight;
  int64_t n;
  C rstd;

  C scaled(int64_t i) const { return weight ? dy[i] * weight[i] : dy[i]; }

  void write_dx(C *dx) const {
    double dot = fold(
        n, 0.0, [this](int64_t i) { return double(scaled(i)) * double(x[i]); },
        [](double a, double b) { return a + b; });
    C factor = C(dot / double(n) * double(rstd) * double(rstd));
    for (int64_t i = 0; i < n; ++i) dx[i] = rstd * (scaled(i) - x[i] * factor);
  }

  void add_dweight(double *dweight) const {
    for (int64_t i = 0; i < n; ++i) dweight[i] += double(dy[i]) * double(x[i] * rstd);
  }
};

template <class C>
static void gradients(const dg_kernel_call_t *call, double epsilon) {
  DenseInput<C> dy(call->inputs[0]), x(call->inputs[1]), weight(call->inputs[2]);
  DenseOutput<C> dx(*call->outputs[0]), dweight(*call->outputs[1]);
  int64_t n = element_count(*call->outputs[1]), rows = n ? element_count(*call->inputs[1]) / n : 0;
  Scratch<double> sums(n);
  double *dw = sums.data();
  for (int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const C *g = dy.data() + row * n, *from = x.data() + row * n, *w = weight.data();
    C *out = dx.data() + row * n;
    vectorised([=] {
      RmsRow<C> gradient{g, from, w, n, C(1.0 / std::sqrt(dot_row(from, from, n) / double(n) + epsilon))};
      gradient.write_dx(out);
      gradient.add_dweight(dw);
    });
  }
  for (int64_t i = 0; i < n; ++i) dweight.data()[i] = C(dw[i]);
  dx.finish(), dweight.finish();
}

static dg_status_t rms_norm_backward_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[1]->dtype), [&](auto type) {
    gradients<Compute<decltype(type)>>(call, attributes<dg_rms_norm_backward_attributes_t>(call).epsilon);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_rms_norm_backward =
    kernel(DG_OP_RMS_NORM_BACKWARD, any_layout, guarded<rms_norm_backward_launch>);

}  // namespace dougong::cpu
