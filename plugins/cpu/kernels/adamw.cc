// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "elementwise.h"

namespace dougong::cpu {

template <class C>
static void adamw_loop(char *const *operand, int64_t count, const void *attributes) {
  const auto &a = *static_cast<const dg_adamw_attributes_t *>(attributes);
  C *parameter_out = reinterpret_cast<C *>(operand[0]), *mean_out = reinterpret_cast<C *>(operand[1]),
    *square_out = reinterpret_cast<C *>(operand[2]);
  const C *parameter = reinterpret_cast<const C *>(operand[3]), *gradient = reinterpret_cast<const C *>(operand[4]);
  const C *mean = reinterpret_cast<const C *>(operand[5]), *square = reinterpret_cast<const C *>(operand[6]);
  C step = C(a.lr / (1.0 - std::pow(a.beta1, double(a.step))));
  C scale = C(1.0 / std::sqrt(1.0 - std::pow(a.beta2, double(a.step))));
  C beta2 = C(a.beta2), fresh1 = C(1.0 - a.beta1), fresh2 = C(1.0 - a.beta2), epsilon = C(a.epsilon);
  C keep = a.decoupled ? C(1.0 - a.lr * a.weight_decay) : C(1), penalty = a.decoupled ? C(0) : C(a.weight_decay);
  const bool penalized = penalty != C(0);  // zero times infinity is no penalty
  C sign = a.maximize ? C(-1) : C(1);
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      C p = parameter[i], g = sign * gradient[i] + (penalized ? penalty * p : C(0));
      C m = mean[i] + (g - mean[i]) * fresh1, v = square[i] * beta2 + fresh2 * g * g;
      mean_out[i] = m;
      square_out[i] = v;
      parameter_out[i] = p * keep - step * (m / (std::sqrt(v) * scale + epsilon));
    }
  });
}

struct AdamW {
  template <class T>
  static constexpr Loop loop = adamw_loop<T>;
};

extern const dg_kernel_t dg_kernel_adamw =
    kernel(DG_OP_ADAMW, any_layout_in_place, elementwise_launch, &table_of<AdamW, Group::floats>);

}  // namespace dougong::cpu
