// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Atanh {
  template <class T>
  T operator()(T x) const {
    return std::atanh(x);
  }
};

extern const dg_kernel_t dg_kernel_atanh = unary<Atanh, Group::floats>(DG_OP_ATANH);

}  // namespace dougong::cpu
