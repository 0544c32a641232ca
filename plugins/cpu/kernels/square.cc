// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Square {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(x) * Wrapping<T>(x));
    else
      return x * x;
  }
};

extern const dg_kernel_t dg_kernel_square = unary<Square, Group::numbers>(DG_OP_SQUARE);

}  // namespace dougong::cpu
