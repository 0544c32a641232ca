// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace dougong::cpu {

struct Any {
  using State = uint8_t;
  static State identity() { return 0; }
  template <class C>
  static State item(C x) {
    return x != C(0);
  }
  static State combine(State a, State b) { return a | b; }
  static Bool finish(State state) { return {state}; }
};

extern const dg_kernel_t dg_kernel_any = kernel(DG_OP_ANY, any_layout, fold_launch<Any, dg_any_attributes_t>);

}  // namespace dougong::cpu
