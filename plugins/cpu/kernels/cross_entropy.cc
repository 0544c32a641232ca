// SPDX-License-Identifier: Apache-2.0
#include "cross_entropy.h"

namespace dougong::cpu {

template <class C>
static double loss_of_row(const Classes<C> &classes, const C *x, int64_t target) {
  AxisRow<C> row(reinterpret_cast<char *>(const_cast<C *>(x)), sizeof(C), sizeof(C) == 4 ? F32 : F64);
  RowStatistics<C> statistics = row_statistics(row, classes.classes);
  double greatest = double(statistics.greatest), log_sum = std::log(statistics.sum);
  auto weighted = [&](int64_t c) { return classes.weight_of(c) * ((double(x[c]) - greatest) - log_sum); };
  double loss = -(1.0 - classes.smoothing) * weighted(target);
  if (classes.smoothing == 0.0) return loss;
  double all = 0;
  for (int64_t c = 0; c < classes.classes; ++c) all += weighted(c);
  return loss - classes.smoothing / double(classes.classes) * all;
}

template <class C>
static dg_status_t losses(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_cross_entropy_attributes_t>(call);
  Classes<C> classes(*call->inputs[0], *call->inputs[1], call->inputs[2], a.label_smoothing);
  dg_status_t status = classes.check(a.ignore_index, "cross_entropy");
  if (status != DG_STATUS_OK) return status;
  DenseInput<C> x(call->inputs[0]);
  DenseOutput<C> y(*call->outputs[0]);
  double total = 0;
  for (int64_t i = 0; i < classes.batch; ++i) {
    double loss =
        classes.ignored(i) ? 0.0 : loss_of_row(classes, x.data() + i * classes.classes, classes.target.data[i]);
    if (a.reduction == DG_CROSS_ENTROPY_REDUCTION_NONE) y.data()[i] = C(loss);
    total += loss;
  }
  if (a.reduction == DG_CROSS_ENTROPY_REDUCTION_SUM) *y.data() = C(total);
  if (a.reduction == DG_CROSS_ENTROPY_REDUCTION_MEAN) *y.data() = C(total / classes.total_weight());
  y.finish();
  return DG_STATUS_OK;
}

static dg_status_t cross_entropy_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) { return losses<Compute<decltype(type)>>(call); });
}

extern const dg_kernel_t dg_kernel_cross_entropy =
    kernel(DG_OP_CROSS_ENTROPY, any_layout, guarded<cross_entropy_launch>);

}  // namespace dougong::cpu
