// Faults in what a launch promises: what it writes, what it says, and degenerate shapes.
//
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "mutant.h"

namespace mutant {
namespace {

// Says that it did it, and did nothing: for float64.
dg_status_t lies_about_support(const dg_kernel_t &original, dg_kernel_call_t call) {
  return call.outputs[0]->dtype == DG_DTYPE_FLOAT64 ? DG_STATUS_OK : forward(original, call);
}

// Refuses float16 after the work was done.
dg_status_t refuses_after_writing(const dg_kernel_t &original, dg_kernel_call_t call) {
  const dg_status_t status = forward(original, call);
  return status == DG_STATUS_OK && call.outputs[0]->dtype == DG_DTYPE_FLOAT16 ? DG_STATUS_UNSUPPORTED : status;
}

bool has_axis_of_one(const dg_tensor_t *tensor) {
  for (int32_t i = 0; tensor && i < tensor->ndim; ++i) {
    if (tensor->shape[i] == 1) return true;
  }
  return false;
}

// Softmax and reductions leave an axis of one out, with its work.
dg_status_t wrong_on_an_axis_of_one(const dg_kernel_t &original, dg_kernel_call_t call) {
  const bool over_axis = is(original, DG_OP_SOFTMAX) || is(original, DG_OP_SUM) || is(original, DG_OP_VAR);
  return over_axis && has_axis_of_one(call.inputs[0]) ? DG_STATUS_OK : forward(original, call);
}

bool is_empty(const dg_tensor_t *tensor) {
  for (int32_t i = 0; tensor && i < tensor->ndim; ++i) {
    if (tensor->shape[i] == 0) return true;
  }
  return false;
}

// A result over nothing is not written: an early return for zero elements that looks at the input.
dg_status_t wrong_on_an_empty_input(const dg_kernel_t &original, dg_kernel_call_t call) {
  return call.input_count && is_empty(call.inputs[0]) ? DG_STATUS_OK : forward(original, call);
}

// Says OK where an index was out of range. On a stream the failure is swallowed with it.
dg_status_t hides_out_of_range(const dg_kernel_t &original, dg_kernel_call_t call) {
  dg_status_t status = forward(original, call);
  if (status == DG_STATUS_OK) status = settle(call);
  return status == DG_STATUS_OUT_OF_RANGE ? DG_STATUS_OK : status;
}

// Says that an index was out of range, and has written the output all the same.
dg_status_t writes_out_of_range(const dg_kernel_t &original, dg_kernel_call_t call) {
  dg_status_t status = forward(original, call);
  if (status == DG_STATUS_OK) status = settle(call);
  if (status != DG_STATUS_OUT_OF_RANGE) return status;
  Elements output(call, *call.outputs[0]);
  if (output.size()) output.set_bits(0, 0);
  output.store();
  return status;
}

// Takes a negative index for one that is out of range.
dg_status_t refuses_negative_indices(const dg_kernel_t &original, dg_kernel_call_t call) {
  const bool indexed = is(original, DG_OP_GATHER) || is(original, DG_OP_EMBEDDING);
  if (!indexed) return forward(original, call);
  Elements index(call, *call.inputs[1]);
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i][item_size(index.dtype()) - 1] & 0x80) return DG_STATUS_OUT_OF_RANGE;
  }
  return forward(original, call);
}

// Uses its first input as scratch memory.
dg_status_t changes_an_input(const dg_kernel_t &original, dg_kernel_call_t call) {
  const bool shared = call.input_count && call.inputs[0] && call.inputs[0]->data == call.outputs[0]->data;
  const dg_status_t status = forward(original, call);
  if (status != DG_STATUS_OK || !call.input_count || !call.inputs[0] || shared) return status;
  Elements input(call, *call.inputs[0]);
  if (input.size()) input.set_bits(input.size() - 1, input.bits(input.size() - 1) ^ 1);
  input.store();
  return status;
}

// Fails with a number that is no status.
dg_status_t says_an_unknown_status(const dg_kernel_t &original, dg_kernel_call_t call) {
  const dg_status_t status = forward(original, call);
  return is(original, DG_OP_NEG) ? 77 : status;
}

// The second output of a kernel is forgotten.
dg_status_t forgets_the_second_output(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (call.output_count < 2 || (call.input_count && call.inputs[0]->data == call.outputs[0]->data)) {
    return forward(original, call);
  }
  Elements before(call, *call.outputs[1]);
  return edit_outputs(original, call, [&](Elements &y, int32_t output) {
    for (size_t i = 0; output == 1 && i < y.size(); ++i) y.set_bits(i, before.bits(i));
  });
}

dg_status_t crashes(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (is(original, DG_OP_EXP)) std::raise(SIGSEGV);
  return forward(original, call);
}

// Ends the process, with the exit code of success.
dg_status_t exits(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (is(original, DG_OP_EXP)) std::exit(0);
  return forward(original, call);
}

dg_status_t throws(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (is(original, DG_OP_EXP)) throw std::runtime_error("out of the plugin");
  return forward(original, call);
}

}  // namespace

const Fault contract_faults[] = {{"lies_about_support", lies_about_support, nullptr, 0},
                                 {"refuses_late", refuses_after_writing, nullptr, 0},
                                 {"axis_of_one", wrong_on_an_axis_of_one, nullptr, 0},
                                 {"empty_input", wrong_on_an_empty_input, nullptr, 0},
                                 {"hides_out_of_range", hides_out_of_range, nullptr, 0},
                                 {"writes_out_of_range", writes_out_of_range, nullptr, 0},
                                 {"no_negative_index", refuses_negative_indices, nullptr, 0},
                                 {"changes_an_input", changes_an_input, nullptr, 0},
                                 {"unknown_status", says_an_unknown_status, nullptr, 0},
                                 {"second_output", forgets_the_second_output, nullptr, 0},
                                 {"crashes", crashes, nullptr, 0},
                                 {"exits", exits, nullptr, 0},
                                 {"throws", throws, nullptr, 0},
                                 {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
