// SPDX-License-Identifier: Apache-2.0
#include "division.h"
#include "elementwise.h"

namespace dougong::cpu {

struct Fmod {
  template <class T>
  T operator()(T a, T b) const {
    return truncated_remainder(a, b);
  }
};

extern const dg_kernel_t dg_kernel_fmod = binary<Fmod, Group::numbers>(DG_OP_FMOD);

}  // namespace dougong::cpu
