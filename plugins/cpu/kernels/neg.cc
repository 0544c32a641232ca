// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return T(0 - Wrapping<T>(x));
    else
      return -x;
  }
};

extern const dg_kernel_t dg_kernel_neg = unary<Neg, Group::numbers>(DG_OP_NEG);

}  // namespace dougong::cpu
