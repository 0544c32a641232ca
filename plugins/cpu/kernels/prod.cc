// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace dougong::cpu {

template <class S>
struct Product {
  using State = S;
  static State identity() { return State(1); }
  template <class C>
  static State item(C x) {
    return State(x);
  }
  static State combine(State a, State b) { return a * b; }
};

static dg_status_t prod_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_prod_attributes_t>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  if (r.dtype == I64) {
    reduce<int64_t>(r, FoldOp<int64_t, Product<uint64_t>>(), [](uint64_t product) { return int64_t(product); });
    return DG_STATUS_OK;
  }
  return with_float(r.dtype, [&](auto type) {
    using T = decltype(type);
    reduce<T>(r, FoldOp<Compute<T>, Product<double>>(), rounded<T>);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_prod = kernel(DG_OP_PROD, any_layout, prod_launch);

}  // namespace dougong::cpu
