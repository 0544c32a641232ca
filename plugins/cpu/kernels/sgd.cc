// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

template <class C>
static void sgd_loop(char *const *operand, int64_t count, const void *attributes) {
  const auto &a = *static_cast<const dg_sgd_attributes_t *>(attributes);
  C *parameter_out = reinterpret_cast<C *>(operand[0]), *buffer_out = reinterpret_cast<C *>(operand[1]);
  const C *parameter = reinterpret_cast<const C *>(operand[2]), *gradient = reinterpret_cast<const C *>(operand[3]);
  const C *buffer = reinterpret_cast<const C *>(operand[4]);
  C lr = C(a.lr), momentum = C(a.momentum), fresh = C(1.0 - a.dampening), decay = C(a.weight_decay);
  C sign = a.maximize ? C(-1) : C(1);
  bool first = a.first_step, nesterov = a.nesterov, uses_buffer = buffer && a.momentum != 0.0;
  auto direction = [=](int64_t i) { return sign * gradient[i] + decay * parameter[i]; };
  vectorised([=] {
    if (!uses_buffer) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) parameter_out[i] = parameter[i] - lr * direction(i);
      for (int64_t i = 0; buffer && i < count; ++i) buffer_out[i] = buffer[i];
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      C g = direction(i), averaged = first ? g : momentum * buffer[i] + fresh * g;
      C step = nesterov ? g + momentum * averaged : averaged;
      buffer_out[i] = averaged;
      parameter_out[i] = parameter[i] - lr * step;
    }
  });
}

struct Sgd {
  template <class T>
  static constexpr Loop loop = sgd_loop<T>;
};

extern const dg_kernel_t dg_kernel_sgd =
    kernel(DG_OP_SGD, any_layout_in_place, elementwise_launch, &table_of<Sgd, Group::floats>);

}  // namespace dougong::cpu
