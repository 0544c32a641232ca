// SPDX-License-Identifier: Apache-2.0
#include "scalar.h"
#include "ternary.h"

namespace dougong::cpu {

struct Addcdiv {
  template <class T>
  static void run(char *const *operand, int64_t count, const void *attributes) {
    auto factor = from_scalar<Wide<T>>(static_cast<const dg_addcdiv_attributes_t *>(attributes)->value);
    ternary_loop<T>(operand, count, [=](auto x, auto a, auto b) { return x + factor * (a / b); });
  }
  template <class T>
  static constexpr Loop loop = run<T>;
};

extern const dg_kernel_t dg_kernel_addcdiv =
    kernel(DG_OP_ADDCDIV, any_layout_in_place, elementwise_launch, &table_of<Addcdiv, Group::floats>);

}  // namespace dougong::cpu
