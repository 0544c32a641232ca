// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

namespace dougong::cpu {

// The sum of squared distances from `means`, one mean a column.
template <class C>
struct DeviationOp : SumOp<C> {
  const double *means;

  double row(const C *x, int64_t count) const {
    double result, *out = &result, mean = *means;
    vectorised([=] {
      *out = sum_row(x, count, [mean](double part) {
        auto distance = part - mean;
        return distance * distance;
      });
    });
    return result;
  }
  double column(int64_t j, double state, C x) const { return state + (x - means[j]) * (x - means[j]); }
};

template <class T>
static void variance(const Reduction &r, double divisor) {
  using C = Compute<T>;
  const SumOp<C> sum;
  auto put = [](char *y, double result) {
    T item = rounded<T>(result);
    std::memcpy(y, &item, sizeof item);
  };
  each_result(
      r,
      [&](char *x, char *y) {
        double mean = fold_row<T>(r, x, sum) / double(r.count);
        DeviationOp<C> deviation;
        deviation.means = &mean;
        put(y, fold_row<T>(r, x, deviation) / divisor);
      },
      [&](char *x, char *y, int64_t y_stride, int64_t width) {
        double means[tile_width], squares[tile_width];
        fold_columns<T>(r, x, width, sum, means);
        for (int64_t j = 0; j < width; ++j) means[j] /= double(r.count);
        DeviationOp<C> deviation;
        deviation.means = means;
        fold_columns<T>(r, x, width, deviation, squares);
        for (int64_t j = 0; j < width; ++j) put(y + j * y_stride, squares[j] / divisor);
      });
}

static dg_status_t var_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_var_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  double divisor = double(r.count) - a.correction;
  return with_float(r.dtype, [&](auto type) {
    variance<decltype(type)>(r, divisor > 0 ? divisor : 0.0);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_var = kernel(DG_OP_VAR, any_layout, var_launch);

}  // namespace dougong::cpu
