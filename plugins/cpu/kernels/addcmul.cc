// SPDX-License-Identifier: Apache-2.0
#include "scalar.h"
#include "ternary.h"

namespace dougong::cpu {

struct Addcmul {
  template <class T>
  static void run(char *const *operand, int64_t count, const void *attributes) {
    const dg_scalar_t &value = static_cast<const dg_addcmul_attributes_t *>(attributes)->value;
    if constexpr (std::is_integral_v<T>) {
      auto factor = Wrapping<T>(from_scalar<T>(value));
      ternary_loop<T>(operand, count,
                      [=](T x, T a, T b) { return Wrapping<T>(x) + factor * Wrapping<T>(a) * Wrapping<T>(b); });
    } else {
      auto factor = from_scalar<Wide<T>>(value);
      ternary_loop<T>(operand, count, [=](auto x, auto a, auto b) { return x + factor * a * b; });
    }
  }
  template <class T>
  static constexpr Loop loop = run<T>;
};

extern const dg_kernel_t dg_kernel_addcmul =
    kernel(DG_OP_ADDCMUL, any_layout_in_place, elementwise_launch, &table_of<Addcmul, Group::numbers>);

}  // namespace dougong::cpu
