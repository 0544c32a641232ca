// Reductions that are a fold: each element becomes a state, and states are combined.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "reduce.h"

namespace dougong::cpu {

// F has State, identity(), item(x) and combine(a, b).
template <class C, class F>
struct FoldOp {
  using Value = C;
  using State = typename F::State;
  F f;
  State identity() const { return f.identity(); }
  State combine(State a, State b) const { return f.combine(a, b); }
  State column(int64_t, State state, C x) const { return f.combine(state, f.item(x)); }
  State row(const C *x, int64_t count) const {
    State result, *out = &result;
    const F g = f;
    vectorised([=] {
      *out = fold(
          count, g.identity(), [&](int64_t i) { return g.item(x[i]); },
          [&](State a, State b) { return g.combine(a, b); });
    });
    return result;
  }
};

// The bytes of a bool stand for it: any but 0 is true.
template <class T>
using Foldable = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, Compute<T>>;

// The launch of an op whose every dtype is folded alike.
template <class F, class Attributes>
dg_status_t fold_launch(const dg_kernel_call_t *call) {
  const Attributes &a = attributes<Attributes>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  return with_dtype(r.dtype, [&](auto type) {
    using T = decltype(type);
    reduce<T>(r, FoldOp<Foldable<T>, F>(), [](typename F::State state) { return F::finish(state); });
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
