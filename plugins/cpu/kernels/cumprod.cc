// SPDX-License-Identifier: Apache-2.0
#include "scan.h"

namespace dougong::cpu {

struct Cumprod {
  static constexpr double identity = 1.0;
  template <class S>
  static S combine(S a, S b) {
    return a * b;
  }
};

extern const dg_kernel_t dg_kernel_cumprod =
    kernel(DG_OP_CUMPROD, any_layout_in_place, guarded<scan_launch<Cumprod, dg_cumprod_attributes_t>>);

}  // namespace dougong::cpu
