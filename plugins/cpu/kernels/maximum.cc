// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

extern const dg_kernel_t dg_kernel_maximum = binary<Maximum, Group::all>(DG_OP_MAXIMUM);

}  // namespace dougong::cpu
