// SPDX-License-Identifier: Apache-2.0
#include "raw.h"

namespace dougong::cpu {

struct Where {
  template <class T>
  static void loop(char *const *operand, int64_t count, const void *) {
    T *out = reinterpret_cast<T *>(operand[0]);
    const uint8_t *condition = reinterpret_cast<const uint8_t *>(operand[1]);
    const T *x = reinterpret_cast<const T *>(operand[2]), *y = reinterpret_cast<const T *>(operand[3]);
    vectorised([=] {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        auto then = value(x[i]), otherwise = value(y[i]);
        out[i] = Store<T>::from(condition[i] != 0 ? then : otherwise);
      }
    });
  }
};

static constexpr Elementwise where_table = raw_table<Where>(1);
extern const dg_kernel_t dg_kernel_where = kernel(DG_OP_WHERE, any_layout_in_place, elementwise_launch, &where_table);

}  // namespace dougong::cpu
