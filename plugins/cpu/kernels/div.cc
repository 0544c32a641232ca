// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

extern const dg_kernel_t dg_kernel_div = binary<Div, Group::floats>(DG_OP_DIV);

}  // namespace dougong::cpu
