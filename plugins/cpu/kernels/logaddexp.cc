// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"
#include "vector_math.h"

namespace dougong::cpu {

struct Logaddexp {
  template <class T>
  T operator()(T a, T b) const {
    T greater = a > b ? a : b;
    T apart = greater + log1p(exp(-std::fabs(a - b)));
    return a == b ? a + T(0.69314718055994531) : apart;
  }
};

extern const dg_kernel_t dg_kernel_logaddexp = binary<Logaddexp, Group::floats>(DG_OP_LOGADDEXP);

}  // namespace dougong::cpu
