// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Hardswish {
  template <class T>
  T operator()(T x) const {
    T ramp = x + T(3);
    ramp = ramp < T(0) ? T(0) : ramp;
    ramp = ramp > T(6) ? T(6) : ramp;
    return x * (ramp / T(6));
  }
};

extern const dg_kernel_t dg_kernel_hardswish = unary<Hardswish, Group::floats>(DG_OP_HARDSWISH);

}  // namespace dougong::cpu
