// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

extern const dg_kernel_t dg_kernel_gt = comparison<Gt>(DG_OP_GT);

}  // namespace dougong::cpu
