// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Reciprocal {
  template <class T>
  T operator()(T x) const {
    return T(1) / x;
  }
};

extern const dg_kernel_t dg_kernel_reciprocal = unary<Reciprocal, Group::floats>(DG_OP_RECIPROCAL);

}  // namespace dougong::cpu
