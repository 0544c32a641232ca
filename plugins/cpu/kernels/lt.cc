// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

extern const dg_kernel_t dg_kernel_lt = comparison<Lt>(DG_OP_LT);

}  // namespace dougong::cpu
