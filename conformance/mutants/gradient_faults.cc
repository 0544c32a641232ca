// Faults in what gradients are made of, which only the backward pass meets in this form.
//
// SPDX-License-Identifier: Apache-2.0
#include "mutant.h"

namespace mutant {
namespace {

// y * (dy - sum(y * dy)) without the sum.
dg_status_t forgets_a_term(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (!is(original, DG_OP_SOFTMAX_BACKWARD) || call.inputs[0]->dtype != DG_DTYPE_FLOAT32)
    return forward(original, call);
  Elements dy(call, *call.inputs[0]), y(call, *call.inputs[1]);
  return edit_outputs(original, call, [&](Elements &dx, int32_t) {
    for (size_t i = 0; i < dx.size(); ++i) {
      const float product = static_cast<float>(y.number(i) * dy.number(i));
      uint32_t bits;
      std::memcpy(&bits, &product, sizeof bits);
      dx.set_bits(i, bits);
    }
  });
}

// Of a sum over the leading axis, which is what broadcasting an input needs: its first slice alone.
dg_status_t forgets_the_broadcast(const dg_kernel_t &original, dg_kernel_call_t call) {
  const auto *attributes = static_cast<const dg_sum_attributes_t *>(call.attributes);
  const bool leading = is(original, DG_OP_SUM) && call.inputs[0]->ndim > 1 && call.inputs[0]->shape[0] > 0 &&
                       attributes->axis_count && attributes->axis[0] == 0;
  if (!leading) return forward(original, call);
  Call first(call);
  first.inputs[0].shape[0] = 1;
  return forward(original, *first.get());
}

// Zero does not equal zero: what relu and its like mask with, so that a kink has the slope of its other side.
dg_status_t takes_the_other_side(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (!is(original, DG_OP_EQ) || !is_float(call.inputs[0]->dtype)) return forward(original, call);
  Elements x(call, *call.inputs[0]);
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    for (size_t i = 0; x.size() == y.size() && i < y.size(); ++i) {
      if (x.number(i) == 0) y.set_bits(i, 0);
    }
  });
}

}  // namespace

const Fault gradient_faults[] = {{"forgotten_term", forgets_a_term, nullptr, 0},
                                 {"forgotten_broadcast", forgets_the_broadcast, nullptr, 0},
                                 {"other_side", takes_the_other_side, nullptr, 0},
                                 {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
