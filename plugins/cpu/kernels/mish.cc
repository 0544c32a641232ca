// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Mish {
  template <class T>
  T operator()(T x) const {
    // tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2), which is 1 from 20 on.
    T e = exp(x > T(20) ? T(20) : x);
    T n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }
};

extern const dg_kernel_t dg_kernel_mish = unary<Mish, Group::floats>(DG_OP_MISH);

}  // namespace dougong::cpu
