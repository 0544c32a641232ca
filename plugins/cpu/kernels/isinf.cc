// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Isinf {
  template <class T>
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x - x != T(0) && x == x;
    else
      return false;
  }
};

extern const dg_kernel_t dg_kernel_isinf = unary<Isinf, Group::all, Predicate>(DG_OP_ISINF);

}  // namespace dougong::cpu
