// SPDX-License-Identifier: Apache-2.0
#include "scan.h"

namespace dougong::cpu {

struct Cumsum {
  static constexpr double identity = -0.0;
  template <class S>
  static S combine(S a, S b) {
    return a + b;
  }
};

extern const dg_kernel_t dg_kernel_cumsum =
    kernel(DG_OP_CUMSUM, any_layout_in_place, guarded<scan_launch<Cumsum, dg_cumsum_attributes_t>>);

}  // namespace dougong::cpu
