// Elementwise ops of three inputs of one dtype. float is computed in double, so that no step overflows or cancels
// early. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elementwise.h"

namespace dougong::cpu {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;

// out[i] = f(x[i], a[i], b[i])
template <class T, class F>
void ternary_loop(char *const *operand, int64_t count, const F &f) {
  T *out = reinterpret_cast<T *>(operand[0]);
  const T *x = reinterpret_cast<const T *>(operand[1]);
  const T *a = reinterpret_cast<const T *>(operand[2]), *b = reinterpret_cast<const T *>(operand[3]);
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = T(f(Wide<T>(x[i]), Wide<T>(a[i]), Wide<T>(b[i])));
  });
}

}  // namespace dougong::cpu
