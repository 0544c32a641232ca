// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Hypot {
  template <class T>
  T operator()(T a, T b) const {
    return std::hypot(a, b);
  }
};

extern const dg_kernel_t dg_kernel_hypot = binary<Hypot, Group::floats>(DG_OP_HYPOT);

}  // namespace dougong::cpu
