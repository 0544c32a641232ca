// Faults in the numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <memory>

#include "mutant.h"

namespace mutant {
namespace {

bool accumulates(const dg_kernel_t &kernel) {
  return is(kernel, DG_OP_MATMUL) || is(kernel, DG_OP_SUM) || is(kernel, DG_OP_CONV2D);
}

uint32_t round_bits(uint32_t bits, int dropped) {
  const uint32_t half = (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return (bits + half) >> dropped << dropped;
}

// float32 inputs rounded so that `kept` bits of the mantissa are left, as matrix units of 10 and 7 bits read them.
dg_status_t with_narrow_inputs(const dg_kernel_t &original, const dg_kernel_call_t &from, int kept) {
  if (!accumulates(original)) return forward(original, from);
  Call call(from);
  std::vector<std::unique_ptr<Substitute>> substitutes;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i) || call.inputs[i].fields.dtype != DG_DTYPE_FLOAT32) continue;
    Elements elements(from, *from.inputs[i]);
    std::vector<uint32_t> narrow;
    for (size_t n = 0; n < elements.size(); ++n) {
      const uint32_t bits = static_cast<uint32_t>(elements.bits(n));
      narrow.push_back(elements.is_nan(n) ? bits : round_bits(bits, 23 - kept));
    }
    substitutes.push_back(std::make_unique<Substitute>(from, &call.inputs[i], DG_DTYPE_FLOAT32, narrow.data()));
  }
  return forward(original, *call.get());
}

dg_status_t rounds_inputs_to_bfloat16(const dg_kernel_t &original, dg_kernel_call_t call) {
  return with_narrow_inputs(original, call, 7);
}

dg_status_t rounds_inputs_to_tf32(const dg_kernel_t &original, dg_kernel_call_t call) {
  return with_narrow_inputs(original, call, 10);
}

// Sums bfloat16 in bfloat16: each element of a sum over the last axis.
dg_status_t accumulates_in_bfloat16(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (!is(original, DG_OP_SUM) || call.inputs[0]->dtype != DG_DTYPE_BFLOAT16) return forward(original, call);
  Elements x(call, *call.inputs[0]);
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    if (y.size() != 1) return;
    float total = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      total += static_cast<float>(x.number(i));
      uint32_t bits;
      std::memcpy(&bits, &total, sizeof bits);
      if (!std::isnan(total)) bits = round_bits(bits, 16);
      std::memcpy(&total, &bits, sizeof bits);
    }
    uint32_t bits;
    std::memcpy(&bits, &total, sizeof bits);
    y.set_bits(0, bits >> 16);
  });
}

bool propagates_nan(const dg_kernel_t &kernel) {
  for (const char *op : {DG_OP_RELU, DG_OP_MAXIMUM, DG_OP_MINIMUM, DG_OP_MAX, DG_OP_MIN}) {
    if (is(kernel, op)) return true;
  }
  return false;
}

dg_status_t drops_nan(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (!propagates_nan(original)) return forward(original, call);
  return edit_outputs(original, call, [](Elements &y, int32_t) {
    for (size_t i = 0; i < y.size(); ++i) {
      if (y.is_nan(i)) y.set_bits(i, 0);
    }
  });
}

// float32 to bfloat16 by its upper half.
dg_status_t truncates_bfloat16(const dg_kernel_t &original, dg_kernel_call_t call) {
  const bool narrows = is(original, DG_OP_CAST) && call.inputs[0]->dtype == DG_DTYPE_FLOAT32 &&
                       call.outputs[0]->dtype == DG_DTYPE_BFLOAT16;
  if (!narrows) return forward(original, call);
  Elements x(call, *call.inputs[0]);
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    for (size_t i = 0; i < y.size(); ++i) {
      if (!x.is_nan(i)) y.set_bits(i, x.bits(i) >> 16);
    }
  });
}

// The kernel of the same op whose first type is float32.
const dg_kernel_t *float32_kernel(const dg_kernel_call_t &call, const dg_kernel_t &original) {
  const dg_kernel_t *const *kernels = nullptr;
  size_t count = 0;
  base().device.device_get_kernels(call.device, &kernels, &count);
  for (size_t i = 0; i < count; ++i) {
    if (!is(*kernels[i], original.op) || kernels[i]->plan) continue;
    const dg_dtype_t *types = kernels[i]->types[0];
    if (!types) return kernels[i];
    for (; *types != DG_DTYPE_NONE; ++types) {
      if (*types == DG_DTYPE_FLOAT32) return kernels[i];
    }
  }
  return nullptr;
}

// A matrix product of bfloat16 computed in float32 and stored by its upper half.
dg_status_t truncates_the_product(const dg_kernel_t &original, dg_kernel_call_t from) {
  const dg_kernel_t *wide = is(original, DG_OP_MATMUL) ? float32_kernel(from, original) : nullptr;
  if (!wide || from.outputs[0]->dtype != DG_DTYPE_BFLOAT16) return forward(original, from);
  Call call(from);
  std::vector<std::unique_ptr<Substitute>> substitutes;
  for (size_t i = 0; i < 2; ++i) {
    Elements elements(from, *from.inputs[i]);
    std::vector<uint32_t> bits;
    for (size_t n = 0; n < elements.size(); ++n) bits.push_back(static_cast<uint32_t>(elements.bits(n)) << 16);
    substitutes.push_back(std::make_unique<Substitute>(from, &call.inputs[i], DG_DTYPE_FLOAT32, bits.data()));
  }
  const std::vector<float> zero(static_cast<size_t>(call.outputs[0].count()), 0.0f);
  Substitute product(from, &call.outputs[0], DG_DTYPE_FLOAT32, zero.data());
  dg_kernel_call_t inner = *call.get();
  inner.user_data = wide->user_data;
  const dg_status_t status = wide->launch(&inner);
  if (status != DG_STATUS_OK) return status;
  settle(from);
  Elements result(from, *inner.outputs[0]), y(from, *from.outputs[0]);
  for (size_t i = 0; i < y.size(); ++i) y.set_bits(i, result.bits(i) >> 16);
  y.store();
  return DG_STATUS_OK;
}

dg_status_t reads_the_old_output(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (!is(original, DG_OP_MATMUL) && !is(original, DG_OP_CONV2D)) return forward(original, call);
  Elements before(call, *call.outputs[0]);
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    for (size_t i = 0; i < y.size(); ++i) {
      if (before.is_nan(i)) y.set_bits(i, before.bits(i));
    }
  });
}

// Flushes subnormal results to zero, and does not say so.
dg_status_t flushes_subnormals(const dg_kernel_t &original, dg_kernel_call_t call) {
  return edit_outputs(original, call, [](Elements &y, int32_t) {
    for (size_t i = 0; i < y.size(); ++i) {
      if (y.is_subnormal(i)) y.set_bits(i, 0);
    }
  });
}

dg_status_t keeps_32_bits_of_int64(const dg_kernel_t &original, dg_kernel_call_t call) {
  return edit_outputs(original, call, [](Elements &y, int32_t) {
    for (size_t i = 0; y.dtype() == DG_DTYPE_INT64 && i < y.size(); ++i) {
      y.set_bits(i, static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(y.bits(i)))));
    }
  });
}

dg_status_t loses_negative_zero(const dg_kernel_t &original, dg_kernel_call_t call) {
  return edit_outputs(original, call, [](Elements &y, int32_t) {
    for (size_t i = 0; is_float(y.dtype()) && i < y.size(); ++i) {
      if (y.number(i) == 0) y.set_bits(i, 0);
    }
  });
}

dg_status_t writes_true_as_255(const dg_kernel_t &original, dg_kernel_call_t call) {
  return edit_outputs(original, call, [](Elements &y, int32_t) {
    for (size_t i = 0; y.dtype() == DG_DTYPE_BOOL && i < y.size(); ++i) y.set_bits(i, y.bits(i) ? 255 : 0);
  });
}

dg_status_t reads_only_one_as_true(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  std::vector<std::unique_ptr<Substitute>> substitutes;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i) || call.inputs[i].fields.dtype != DG_DTYPE_BOOL) continue;
    Elements elements(from, *from.inputs[i]);
    std::vector<unsigned char> bytes;
    for (size_t n = 0; n < elements.size(); ++n) bytes.push_back(elements.bits(n) == 1);
    substitutes.push_back(std::make_unique<Substitute>(from, &call.inputs[i], DG_DTYPE_BOOL, bytes.data()));
  }
  return forward(original, *call.get());
}

// Every second launch turns the last bit of the first element over: within every tolerance.
dg_status_t is_not_deterministic(const dg_kernel_t &original, dg_kernel_call_t call) {
  static std::atomic<unsigned> launches{0};
  if (!accumulates(original)) return forward(original, call);
  const bool turn = launches++ % 2 == 1;
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    if (turn && y.size() && is_float(y.dtype()) && !y.is_nan(0)) y.set_bits(0, y.bits(0) ^ 1);
  });
}

}  // namespace

const Fault number_faults[] = {{"bfloat16_inputs", rounds_inputs_to_bfloat16, nullptr, 0},
                               {"tf32_inputs", rounds_inputs_to_tf32, nullptr, 0},
                               {"narrow_accumulator", accumulates_in_bfloat16, nullptr, 0},
                               {"drops_nan", drops_nan, nullptr, 0},
                               {"truncates_cast", truncates_bfloat16, nullptr, 0},
                               {"truncates_product", truncates_the_product, nullptr, 0},
                               {"old_output", reads_the_old_output, nullptr, 0},
                               {"flushes", flushes_subnormals, nullptr, 0},
                               {"int64_as_int32", keeps_32_bits_of_int64, nullptr, 0},
                               {"negative_zero", loses_negative_zero, nullptr, 0},
                               {"true_is_255", writes_true_as_255, nullptr, 0},
                               {"only_one_is_true", reads_only_one_as_true, nullptr, 0},
                               {"not_deterministic", is_not_deterministic, nullptr, 0},
                               {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
