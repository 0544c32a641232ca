// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

extern const dg_kernel_t dg_kernel_ge = comparison<Ge>(DG_OP_GE);

}  // namespace dougong::cpu
