// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

struct Trunc {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::trunc(x);
  }
};

extern const dg_kernel_t dg_kernel_trunc = unary<Trunc, Group::numbers>(DG_OP_TRUNC);

}  // namespace dougong::cpu
