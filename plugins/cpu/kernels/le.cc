// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

extern const dg_kernel_t dg_kernel_le = comparison<Le>(DG_OP_LE);

}  // namespace dougong::cpu
