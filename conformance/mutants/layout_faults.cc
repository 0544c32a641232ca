// Faults in how a kernel finds its elements.
//
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "mutant.h"

namespace mutant {
namespace {

dg_status_t ignores_input_strides(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &input : call.inputs) input.make_dense();
  return forward(original, *call.get());
}

dg_status_t ignores_output_strides(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &output : call.outputs) output.make_dense();
  return forward(original, *call.get());
}

dg_status_t ignores_input_offset(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &input : call.inputs) input.fields.byte_offset = 0;
  return forward(original, *call.get());
}

dg_status_t ignores_output_offset(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &output : call.outputs) output.fields.byte_offset = 0;
  return forward(original, *call.get());
}

// Takes a broadcast axis for a dense one: the stride of zero is forgotten, the others are kept.
dg_status_t ignores_stride_zero(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &input : call.inputs) {
    for (size_t i = 0; i < input.strides.size(); ++i) {
      if (input.strides[i] == 0 && input.shape[i] > 1) input.strides[i] = 1;
    }
  }
  return forward(original, *call.get());
}

// Takes a negative stride for a positive one.
dg_status_t drops_the_sign_of_strides(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  for (Descriptor &input : call.inputs) {
    for (size_t i = 0; i < input.strides.size(); ++i) {
      if (input.strides[i] < 0 && input.shape[i] > 1) {
        input.fields.byte_offset +=
            static_cast<uint64_t>(input.strides[i] * (input.shape[i] - 1)) * item_size(input.fields.dtype);
        input.strides[i] = -input.strides[i];
      }
    }
  }
  return forward(original, *call.get());
}

// Keeps, for each op and shape, the strides of the first call: a cache whose key lacks them.
dg_status_t reuses_the_first_strides(const dg_kernel_t &original, dg_kernel_call_t from) {
  static std::map<std::string, std::vector<int64_t>> first;
  static std::mutex mutex;
  Call call(from);
  std::lock_guard<std::mutex> lock(mutex);
  for (Descriptor &input : call.inputs) {
    std::string key = std::string(original.op) + std::to_string(input.fields.dtype);
    for (int64_t size : input.shape) key += "," + std::to_string(size);
    input.strides = first.emplace(key, input.strides).first->second;
  }
  return forward(original, *call.get());
}

// Writes one element more than the output has.
dg_status_t overruns_the_output(const dg_kernel_t &original, dg_kernel_call_t call) {
  const dg_status_t status = forward(original, call);
  if (status != DG_STATUS_OK) return status;
  Descriptor end(*call.outputs[0]);
  end.fields.byte_offset += static_cast<uint64_t>(end.count()) * item_size(end.fields.dtype);
  end.fields.ndim = 0;
  Elements beyond(call, end.tensor());
  beyond.set_bits(0, 0);
  beyond.store();
  return DG_STATUS_OK;
}

// Writes the block that a strided output lies in from its first byte to its last.
dg_status_t fills_the_gaps(const dg_kernel_t &original, dg_kernel_call_t from) {
  const dg_status_t status = forward(original, from);
  if (status != DG_STATUS_OK) return status;
  Descriptor gap(*from.outputs[0]);
  if (gap.shape.empty() || gap.strides.back() != 2 || gap.shape.back() < 2) return status;
  gap.fields.byte_offset += item_size(gap.fields.dtype);
  gap.fields.ndim = 0;
  Elements between(from, gap.tensor());
  between.set_bits(0, 0);
  between.store();
  return DG_STATUS_OK;
}

// The elements behind the last whole tile of eight are not computed.
dg_status_t skips_the_last_tile(const dg_kernel_t &original, dg_kernel_call_t call) {
  std::vector<Elements> before;
  for (int32_t i = 0; i < call.output_count; ++i) before.emplace_back(call, *call.outputs[i]);
  return edit_outputs(original, call, [&](Elements &after, int32_t output) {
    if (after.size() < 8) return;
    for (size_t i = after.size() / 8 * 8; i < after.size(); ++i) after.set_bits(i, before[output].bits(i));
  });
}

// An output of more than 1024 elements lacks the last one.
dg_status_t off_by_one_past_1024(const dg_kernel_t &original, dg_kernel_call_t call) {
  std::vector<Elements> before;
  for (int32_t i = 0; i < call.output_count; ++i) before.emplace_back(call, *call.outputs[i]);
  return edit_outputs(original, call, [&](Elements &after, int32_t output) {
    if (after.size() > 1024) after.set_bits(after.size() - 1, before[output].bits(after.size() - 1));
  });
}

// Reductions and softmax that forget the last element of an axis longer than 1024.
dg_status_t forgets_the_end_of_a_long_axis(const dg_kernel_t &original, dg_kernel_call_t from) {
  Call call(from);
  Descriptor *x = call.inputs.empty() ? nullptr : &call.inputs[0];
  const bool reduces = is(original, DG_OP_SUM) || is(original, DG_OP_MEAN) || is(original, DG_OP_MAX);
  if (reduces && !x->shape.empty() && x->shape.back() > 1024) --x->shape.back();
  return forward(original, *call.get());
}

}  // namespace

const Fault layout_faults[] = {{"input_strides", ignores_input_strides, nullptr, 0},
                               {"output_strides", ignores_output_strides, nullptr, 0},
                               {"input_offset", ignores_input_offset, nullptr, 0},
                               {"output_offset", ignores_output_offset, nullptr, 0},
                               {"stride_zero", ignores_stride_zero, nullptr, 0},
                               {"negative_strides", drops_the_sign_of_strides, nullptr, 0},
                               {"stale_strides", reuses_the_first_strides, nullptr, 0},
                               {"overrun", overruns_the_output, nullptr, 0},
                               {"fills_gaps", fills_the_gaps, nullptr, 0},
                               {"partial_tile", skips_the_last_tile, nullptr, 0},
                               {"past_1024", off_by_one_past_1024, nullptr, 0},
                               {"long_axis", forgets_the_end_of_a_long_axis, nullptr, 0},
                               {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
