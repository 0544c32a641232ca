// SPDX-License-Identifier: Apache-2.0
#include "ternary.h"

namespace dougong::cpu {

struct Lerp {
  template <class T>
  static void run(char *const *operand, int64_t count, const void *) {
    ternary_loop<T>(operand, count, [](auto start, auto end, auto weight) {
      auto from_start = start + weight * (end - start), from_end = end - (end - start) * (1 - weight);
      return weight < 0.5 ? from_start : from_end;
    });
  }
  template <class T>
  static constexpr Loop loop = run<T>;
};

extern const dg_kernel_t dg_kernel_lerp =
    kernel(DG_OP_LERP, any_layout_in_place, elementwise_launch, &table_of<Lerp, Group::floats>);

}  // namespace dougong::cpu
