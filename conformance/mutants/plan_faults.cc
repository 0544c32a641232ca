// Faults in plans and workspace. The kernels of the base have no plan: the mutant gives them one.
//
// SPDX-License-Identifier: Apache-2.0
#include "mutant.h"

namespace mutant {
namespace {

constexpr uint64_t workspace_size = 64;

// A descriptor of `count` bytes of the workspace, from byte `begin`.
Descriptor bytes_of_workspace(const dg_kernel_call_t &call, uint64_t begin, int64_t count) {
  int64_t shape[] = {count}, strides[] = {1};
  dg_tensor_t tensor = *call.outputs[0];
  tensor.data = call.workspace;
  tensor.byte_offset = call.workspace_offset + begin;
  tensor.dtype = DG_DTYPE_UINT8;
  tensor.ndim = 1;
  tensor.shape = shape;
  tensor.strides = strides;
  return Descriptor(tensor);
}

dg_status_t without_plan(const dg_kernel_t &original, dg_kernel_call_t call) {
  call.plan = nullptr;
  return forward(original, call);
}

// Uses a byte more than it asked for.
dg_status_t overruns_the_workspace(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (call.workspace) {
    const Descriptor beyond = bytes_of_workspace(call, workspace_size, 1);
    Elements elements(call, beyond.tensor());
    elements.set_bits(0, 0);
    elements.store();
  }
  return without_plan(original, call);
}

// Counts on a workspace of zeros, and spoils the result where it is not.
dg_status_t counts_on_a_clean_workspace(const dg_kernel_t &original, dg_kernel_call_t call) {
  const Descriptor scratch = bytes_of_workspace(call, 0, 1);
  Elements first(call, scratch.tensor());
  const uint64_t found = first.bits(0);
  call.plan = nullptr;
  return edit_outputs(original, call, [&](Elements &y, int32_t) {
    if (y.size()) y.set_bits(0, y.bits(0) ^ (found & 1));
  });
}

// A plan that remembers the addresses of its first launch: nothing reaches the memory of the second.
dg_status_t plan_serves_once(const dg_kernel_t &original, dg_kernel_call_t call) {
  if (call.plan && ++*static_cast<uint64_t *>(call.plan) > 1) return DG_STATUS_OK;
  return without_plan(original, call);
}

}  // namespace

const Fault plan_faults[] = {{"workspace_overrun", overruns_the_workspace, nullptr, workspace_size},
                             {"dirty_workspace", counts_on_a_clean_workspace, nullptr, workspace_size},
                             {"plan_serves_once", plan_serves_once, nullptr, workspace_size},
                             {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
