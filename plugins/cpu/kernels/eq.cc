// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};

extern const dg_kernel_t dg_kernel_eq = comparison<Eq>(DG_OP_EQ);

}  // namespace dougong::cpu
