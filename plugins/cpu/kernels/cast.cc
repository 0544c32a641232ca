// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

// Wide types become the float from which the driver can round to 16 bits once.
template <class To, class From, bool to_half>
static void cast_loop(char *const *operand, int64_t count, const void *) {
  To *out = reinterpret_cast<To *>(operand[0]);
  const From *in = reinterpret_cast<const From *>(operand[1]);
  vectorised([=] {
    for (int64_t i = 0; i < count; ++i) {
      auto x = value(in[i]);
      using Value = decltype(value(To()));
      if constexpr (to_half && std::is_same_v<From, double>)
        out[i] = round_to_odd(x);
      else if constexpr (to_half && std::is_integral_v<From>)
        out[i] = round_to_odd(int64_t(x));
      else
        out[i] = Store<To>::from(convert<Value>(x));
    }
  });
}

template <class From>
static Loop loop_to(Dtype to) {
  switch (to) {
    case F32:
      return cast_loop<float, From, false>;
    case F64:
      return cast_loop<double, From, false>;
    case F16:
    case BF16:
      return cast_loop<float, From, true>;
    case I8:
      return cast_loop<int8_t, From, false>;
    case I16:
      return cast_loop<int16_t, From, false>;
    case I32:
      return cast_loop<int32_t, From, false>;
    case I64:
      return cast_loop<int64_t, From, false>;
    case U8:
      return cast_loop<uint8_t, From, false>;
    case BOOL:
      return cast_loop<Bool, From, false>;
    default:
      return nullptr;
  }
}

static Loop loop_between(Dtype from, Dtype to) {
  switch (from) {
    case F32:
    case F16:
    case BF16:
      return loop_to<float>(to);
    case F64:
      return loop_to<double>(to);
    case I8:
      return loop_to<int8_t>(to);
    case I16:
      return loop_to<int16_t>(to);
    case I32:
      return loop_to<int32_t>(to);
    case I64:
      return loop_to<int64_t>(to);
    case U8:
      return loop_to<uint8_t>(to);
    case BOOL:
      return loop_to<Bool>(to);
    default:
      return nullptr;
  }
}

static dg_status_t cast_launch(const dg_kernel_call_t *call) {
  Loop loop = loop_between(dtype_of(call->inputs[0]->dtype), dtype_of(call->outputs[0]->dtype));
  if (!loop)
    return fail(DG_STATUS_UNSUPPORTED, "cast does not know dtype 0x%08x or 0x%08x", call->inputs[0]->dtype,
                call->outputs[0]->dtype);
  return elementwise_run(call, loop, false, nullptr);
}

extern const dg_kernel_t dg_kernel_cast = kernel(DG_OP_CAST, any_layout_in_place, cast_launch);

}  // namespace dougong::cpu
