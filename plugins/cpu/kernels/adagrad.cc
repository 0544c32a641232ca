// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

template <class C>
static void adagrad_loop(char *const *operand, int64_t count, const void *attributes) {
  const auto &a = *static_cast<const dg_adagrad_attributes_t *>(attributes);
  C *parameter_out = reinterpret_cast<C *>(operand[0]), *sum_out = reinterpret_cast<C *>(operand[1]);
  const C *parameter = reinterpret_cast<const C *>(operand[2]), *gradient = reinterpret_cast<const C *>(operand[3]);
  const C *sum = reinterpret_cast<const C *>(operand[4]);
  const C step = C(a.lr / (1.0 + double(a.step - 1) * a.lr_decay)), epsilon = C(a.epsilon), decay = C(a.weight_decay);
  const C sign = a.maximize ? C(-1) : C(1);
  const bool decays = a.weight_decay != 0.0;  // zero times infinity is no penalty
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const C g = sign * gradient[i] + (decays ? decay * parameter[i] : C(0)), s = sum[i] + g * g;
      sum_out[i] = s;
      parameter_out[i] = parameter[i] - step * (g / (std::sqrt(s) + epsilon));
    }
  });
}

struct Adagrad {
  template <class T>
  static constexpr Loop loop = adagrad_loop<T>;
};

extern const dg_kernel_t dg_kernel_adagrad =
    kernel(DG_OP_ADAGRAD, any_layout_in_place, elementwise_launch, &table_of<Adagrad, Group::floats>);

}  // namespace dougong::cpu
