// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Relu {
  template <class T>
  T operator()(T x) const {
    return x > T(0) || x != x ? x : T(0);
  }
};

extern const dg_kernel_t dg_kernel_relu = unary<Relu, Group::numbers>(DG_OP_RELU);

}  // namespace dougong::cpu
