// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Isfinite {
  template <class T>
  bool operator()(T x) const {
    return x - x == T(0);
  }
};

extern const dg_kernel_t dg_kernel_isfinite = unary<Isfinite, Group::all, Predicate>(DG_OP_ISFINITE);

}  // namespace dougong::cpu
