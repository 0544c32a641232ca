// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace dougong::cpu {

struct All {
  using State = uint8_t;
  static State identity() { return 1; }
  template <class C>
  static State item(C x) {
    return x != C(0);
  }
  static State combine(State a, State b) { return a & b; }
  static Bool finish(State state) { return {state}; }
};

extern const dg_kernel_t dg_kernel_all = kernel(DG_OP_ALL, any_layout, fold_launch<All, dg_all_attributes_t>);

}  // namespace dougong::cpu
