// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

extern const dg_kernel_t dg_kernel_minimum = binary<Minimum, Group::all>(DG_OP_MINIMUM);

}  // namespace dougong::cpu
