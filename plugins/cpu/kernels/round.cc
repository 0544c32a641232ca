// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Round {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::rint(x);
  }
};

extern const dg_kernel_t dg_kernel_round = unary<Round, Group::numbers>(DG_OP_ROUND);

}  // namespace dougong::cpu
