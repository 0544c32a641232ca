// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace dougong::cpu {

struct CountNonzero {
  using State = int64_t;
  static State identity() { return 0; }
  template <class C>
  static State item(C x) {
    return x != C(0);
  }
  static State combine(State a, State b) { return a + b; }
  static int64_t finish(State state) { return state; }
};

extern const dg_kernel_t dg_kernel_count_nonzero =
    kernel(DG_OP_COUNT_NONZERO, any_layout, fold_launch<CountNonzero, dg_count_nonzero_attributes_t>);

}  // namespace dougong::cpu
