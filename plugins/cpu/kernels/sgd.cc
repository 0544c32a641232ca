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
  const bool decays = a.weight_decay != 0.0;  // zero times infinity is no penalty
  auto direction = [=](int64_t i) { return sign * gradient[i] + (decays ? decay * parameter[i] : C(0)); };
  auto plain = [=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) parameter_out[i] = parameter[i] - lr * direction(i);
    for (int64_t i = 0; buffer && i < count; ++i) buffer_out[i] = buffer[i];
  };
  auto averaged = [=](auto first, auto nesterov) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      C g = direction(i), average = g;
      if constexpr (!first()) average = momentum * buffer[i] + fresh * g;
      C step = average;
      if constexpr (nesterov()) step = g + momentum * average;
      buffer_out[i] = average;
      parameter_out[i] = parameter[i] - lr * step;
    }
  };
  std::true_type yes;
  std::false_type no;
  vectorised([=] {
    if (!buffer || a.momentum == 0.0)
      plain();
    else if (a.first_step)
      a.nesterov ? averaged(yes, yes) : averaged(yes, no);
    else
      a.nesterov ? averaged(no, yes) : averaged(no, no);
  });
}

struct Sgd {
  template <class T>
  static constexpr Loop loop = sgd_loop<T>;
};

extern const dg_kernel_t dg_kernel_sgd =
    kernel(DG_OP_SGD, any_layout_in_place, elementwise_launch, &table_of<Sgd, Group::floats>);

}  // namespace dougong::cpu
