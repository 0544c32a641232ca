// SPDX-License-Identifier: Apache-2.0
#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

// With g = dy * weight and h = (x - mean) * rstd: dx = rstd * (g - mean(g) - h * mean(g h)).
template <class C>
struct RowGradient {
  const C *dy, *x, *weight;
  C mean, rstd;
  int64_t n;

  C normal(int64_t i) const { return (x[i] - mean) * rstd; }
  C scaled(int64_t i) const { return weight ? dy[i] * weight[i] : dy[i]; }

  void write_dx(C *dx) const {
    double sum = 0, dot = 0;
    for (int64_t first = 0; first < n; first += chunk_size) {
      int64_t end = first + chunk_size < n ? first + chunk_size : n;
      alignas(64) C g[chunk_size], h[chunk_size];
      for (int64_t i = first; i < end; ++i) g[i - first] = scaled(i), h[i - first] = normal(i);
      sum += sum_row(static_cast<const C *>(g), end - first);
      dot += dot_row(static_cast<const C *>(g), static_cast<const C *>(h), end - first);
    }
    C mean_g = C(sum / double(n)), mean_gh = C(dot / double(n));
    for (int64_t i = 0; i < n; ++i) dx[i] = rstd * ((scaled(i) - mean_g) - normal(i) * mean_gh);
  }

  void add_parameters(double *dweight, double *dbias) const {
    for (int64_t i = 0; i < n; ++i) {
      dweight[i] += double(dy[i]) * double(normal(i));
      dbias[i] += double(dy[i]);
    }
  }
};

template <class C>
static void gradients(const dg_kernel_call_t *call, int64_t n) {
  DenseInput<C> dy(call->inputs[0]), x(call->inputs[1]), weight(call->inputs[2]), mean(call->inputs[3]),
      rstd(call->inputs[4]);
  DenseOutput<C> dx(*call->outputs[0]), dweight(*call->outputs[1]), dbias(*call->outputs[2]);
  Scratch<double> weight_sums(n), bias_sums(n);
  for (int64_t i = 0; i < n; ++i) weight_sums[i] = bias_sums[i] = 0;
  int64_t rows = element_count(*call->inputs[3]);
  double *dw = weight_sums.data(), *db = bias_sums.data();
  for (int64_t row = 0; row < rows; ++row) {
    RowGradient<C> gradient{dy.data() + row * n, x.data() + row * n, weight.data(),
                            mean.data()[row],    rstd.data()[row],   n};
    C *out = dx.data() + row * n;
    vectorised([=] {
      gradient.write_dx(out);
      gradient.add_parameters(dw, db);
    });
  }
  for (int64_t i = 0; i < n; ++i) dweight.data()[i] = C(dw[i]), dbias.data()[i] = C(db[i]);
  dx.finish(), dweight.finish(), dbias.finish();
}

static dg_status_t layer_norm_backward_launch(const dg_kernel_call_t *call) {
  const dg_tensor_t &x = *call->inputs[1];
  int64_t n = element_count(*call->outputs[1]);
  return with_float(dtype_of(x.dtype), [&](auto type) {
    gradients<Compute<decltype(type)>>(call, n);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_layer_norm_backward =
    kernel(DG_OP_LAYER_NORM_BACKWARD, any_layout, guarded<layer_norm_backward_launch>);

}  // namespace dougong::cpu
