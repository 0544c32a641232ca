// SPDX-License-Identifier: Apache-2.0
#include "cross_entropy.h"

namespace dougong::cpu {

// dloss / dx(c) = p(c) ((1 - s) w(t) + s / classes * sum of w) - (1 - s) w(t) [c = t] - s / classes * w(c)
template <class C>
static void row_gradient(const Classes<C> &classes, const C *x, int64_t target, double scale, C *dx) {
  int64_t n = classes.classes;
  AxisRow<C> row(reinterpret_cast<char *>(const_cast<C *>(x)), sizeof(C), sizeof(C) == 4 ? F32 : F64);
  RowStatistics<C> statistics = row_statistics(row, n);
  double hard = (1.0 - classes.smoothing) * classes.weight_of(target), soft = classes.smoothing / double(n);
  double factor = (hard + soft * classes.weight_sum) / statistics.sum;
  for (int64_t c = 0; c < n; ++c) {
    double p = exp(double(x[c]) - double(statistics.greatest)) * factor;
    double gradient = p - soft * classes.weight_of(c) - (c == target ? hard : 0.0);
    dx[c] = C(scale * gradient);
  }
}

template <class C>
static dg_status_t gradients(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_cross_entropy_backward_attributes_t>(call);
  Classes<C> classes(*call->inputs[1], *call->inputs[2], call->inputs[3], a.label_smoothing);
  dg_status_t status = classes.check(a.ignore_index, "cross_entropy_backward");
  if (status != DG_STATUS_OK) return status;
  DenseInput<C> dy(call->inputs[0]), x(call->inputs[1]);
  DenseOutput<C> dx(*call->outputs[0]);
  bool none = a.reduction == DG_CROSS_ENTROPY_BACKWARD_REDUCTION_NONE;
  bool mean = a.reduction == DG_CROSS_ENTROPY_BACKWARD_REDUCTION_MEAN;
  double divisor = mean ? classes.total_weight() : 1.0;
  for (int64_t i = 0; i < classes.batch; ++i) {
    C *row = dx.data() + i * classes.classes;
    if (classes.ignored(i)) {
      for (int64_t c = 0; c < classes.classes; ++c) row[c] = C(0);
    } else {
      double scale = double(dy.data()[none ? i : 0]) / divisor;
      row_gradient(classes, x.data() + i * classes.classes, classes.target.data[i], scale, row);
    }
  }
  dx.finish();
  return DG_STATUS_OK;
}

static dg_status_t cross_entropy_backward_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[1]->dtype),
                    [&](auto type) { return gradients<Compute<decltype(type)>>(call); });
}

extern const dg_kernel_t dg_kernel_cross_entropy_backward =
    kernel(DG_OP_CROSS_ENTROPY_BACKWARD, any_layout_in_place, guarded<cross_entropy_backward_launch>);

}  // namespace dougong::cpu
