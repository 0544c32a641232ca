// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"
#include "vector_math.h"

namespace dougong::cpu {

// The sum of exp(x - shift), one shift a column.
template <class C>
struct ExpSumOp : SumOp<C> {
  const C *shifts;

  double row(const C *x, int64_t count) const {
    double result, *out = &result;
    C shift = *shifts;
    vectorised([=] {
      *out = fold(
          count, 0.0, [=](int64_t i) { return double(exp(x[i] - shift)); }, [](double a, double b) { return a + b; });
    });
    return result;
  }
  double column(int64_t j, double state, C x) const { return state + double(exp(x - shifts[j])); }
};

// The greatest element; 0 where that is no number to shift by.
template <class C>
static C shift_of(C greatest) {
  return std::isfinite(greatest) ? greatest : C(0);
}

template <class T>
static void logsumexp_of(const Reduction &r) {
  using C = Compute<T>;
  const BestOp<C, Greatest> best;
  auto put = [](char *y, C shift, double sum) {
    T item = rounded<T>(double(shift) + std::log(sum));
    std::memcpy(y, &item, sizeof item);
  };
  each_result(
      r,
      [&](char *x, char *y) {
        C shift = shift_of(fold_row<T>(r, x, best));
        ExpSumOp<C> exps;
        exps.shifts = &shift;
        put(y, shift, fold_row<T>(r, x, exps));
      },
      [&](char *x, char *y, int64_t y_stride, int64_t width) {
        C shifts[tile_width];
        double sums[tile_width];
        fold_columns<T>(r, x, width, best, shifts);
        for (int64_t j = 0; j < width; ++j) shifts[j] = shift_of(shifts[j]);
        ExpSumOp<C> exps;
        exps.shifts = shifts;
        fold_columns<T>(r, x, width, exps, sums);
        for (int64_t j = 0; j < width; ++j) put(y + j * y_stride, shifts[j], sums[j]);
      });
}

static dg_status_t logsumexp_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_logsumexp_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  return with_float(r.dtype, [&](auto type) {
    logsumexp_of<decltype(type)>(r);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_logsumexp = kernel(DG_OP_LOGSUMEXP, any_layout, logsumexp_launch);

}  // namespace dougong::cpu
