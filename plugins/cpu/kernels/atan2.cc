// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Atan2 {
  template <class T>
  T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
};

extern const dg_kernel_t dg_kernel_atan2 = binary<Atan2, Group::floats>(DG_OP_ATAN2);

}  // namespace dougong::cpu
