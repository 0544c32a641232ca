// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace dougong::cpu {

struct Added {
  using State = double;
  static double identity() { return 0; }
  static double combine(double a, double b) { return a + b; }
};
struct Count : Added {
  double item(double x) const { return x != 0 ? 1 : 0; }
};
struct Sizes : Added {
  double item(double x) const { return std::fabs(x); }
};
struct Squares : Added {
  double item(double x) const { return x * x; }
};
struct Powers : Added {
  double p;
  double item(double x) const { return std::pow(std::fabs(x), p); }
};
template <class Order>
struct Extreme {
  using State = double;
  static double identity() { return std::is_same_v<Order, Greatest> ? 0 : Order::template identity<double>(); }
  static double item(double x) { return std::fabs(x); }
  static double combine(double a, double b) { return Order::better(a, b) ? a : b; }
};

template <class T>
static void norm_of(const Reduction &r, double p) {
  using C = Compute<T>;
  if (p == 0) return reduce<T>(r, FoldOp<C, Count>(), rounded<T>);
  if (p == 1) return reduce<T>(r, FoldOp<C, Sizes>(), rounded<T>);
  if (p == 2) return reduce<T>(r, FoldOp<C, Squares>(), [](double sum) { return rounded<T>(std::sqrt(sum)); });
  if (std::isinf(p) && p > 0) return reduce<T>(r, FoldOp<C, Extreme<Greatest>>(), rounded<T>);
  if (std::isinf(p)) return reduce<T>(r, FoldOp<C, Extreme<Least>>(), rounded<T>);
  Powers powers;
  powers.p = p;
  reduce<T>(r, FoldOp<C, Powers>{powers}, [p](double sum) { return rounded<T>(std::pow(sum, 1 / p)); });
}

static dg_status_t norm_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_norm_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  return with_float(r.dtype, [&](auto type) {
    norm_of<decltype(type)>(r, a.p);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_norm = kernel(DG_OP_NORM, any_layout, norm_launch);

}  // namespace dougong::cpu
