// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Isnan {
  template <class T>
  bool operator()(T x) const {
    return x != x;
  }
};

extern const dg_kernel_t dg_kernel_isnan = unary<Isnan, Group::all, Predicate>(DG_OP_ISNAN);

}  // namespace dougong::cpu
