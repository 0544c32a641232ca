// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

extern const dg_kernel_t dg_kernel_ne = comparison<Ne>(DG_OP_NE);

}  // namespace dougong::cpu
