// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

// Raised to min, then lowered to max; NaN of any of the three stays. A null bound is none.
template <class T>
static void clamp_loop(char *const *operand, int64_t count, const void *) {
  T *out = reinterpret_cast<T *>(operand[0]);
  const T *x = reinterpret_cast<const T *>(operand[1]);
  const T *min = reinterpret_cast<const T *>(operand[2]), *max = reinterpret_cast<const T *>(operand[3]);
  auto raised = [](auto a, auto low) { return a == a && (a < low || low != low) ? low : a; };
  auto lowered = [](auto a, auto high) { return a == a && (a > high || high != high) ? high : a; };
  auto run = [=](auto item) {
    vectorised([=] {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = Store<T>::from(item(i));
    });
  };
  if (min && max)
    run([=](int64_t i) { return lowered(raised(value(x[i]), value(min[i])), value(max[i])); });
  else if (min)
    run([=](int64_t i) { return raised(value(x[i]), value(min[i])); });
  else if (max)
    run([=](int64_t i) { return lowered(value(x[i]), value(max[i])); });
  else
    run([=](int64_t i) { return value(x[i]); });
}

struct Clamp {
  template <class T>
  static constexpr Loop loop = clamp_loop<T>;
};

extern const dg_kernel_t dg_kernel_clamp =
    kernel(DG_OP_CLAMP, any_layout_in_place, elementwise_launch, &table_of<Clamp, Group::all>);

}  // namespace dougong::cpu
