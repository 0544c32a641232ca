// What every kernel file begins with: it defines `dg_kernel_<op>`, the entry of the op that it is named after.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_kernel.h>
#include <dougong/dg_ops.h>

#include <new>

#include "../dtype.h"
#include "../error.h"
#include "../isa.h"

namespace dougong::cpu {

constexpr uint32_t any_layout = DG_KERNEL_STRIDED | DG_KERNEL_DETERMINISTIC;
constexpr uint32_t any_layout_in_place = any_layout | DG_KERNEL_IN_PLACE;

using Launch = dg_status_t (*)(const dg_kernel_call_t *call);
using Plan = dg_status_t (*)(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan);

// All dtypes that the op allows.
constexpr dg_kernel_t kernel(const char *op, uint32_t flags, Launch launch, const void *user_data = nullptr,
                             Plan plan = nullptr) {
  return {sizeof(dg_kernel_t),
          op,
          {nullptr, nullptr, nullptr},
          flags,
          0,
          const_cast<void *>(user_data),
          launch,
          plan,
          nullptr};
}

// For kernels that take temporary memory.
template <Launch launch>
dg_status_t guarded(const dg_kernel_call_t *call) {
  try {
    return launch(call);
  } catch (const std::bad_alloc &) {
    return fail(DG_STATUS_OUT_OF_MEMORY,
                "the host has no memory left for the temporary buffers of a kernel; "
                "nothing was written. Use smaller batches");
  }
}

template <class Attributes>
const Attributes &attributes(const dg_kernel_call_t *call) {
  return *static_cast<const Attributes *>(call->attributes);
}

// The first element. `data` is null when a plan is made.
inline char *address(const dg_tensor_t &tensor) {
  return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
}

inline int64_t element_count(const dg_tensor_t &tensor) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) count *= tensor.shape[axis];
  return count;
}

// The elements lie densely in row-major order.
inline bool is_dense(const dg_tensor_t &tensor) {
  int64_t expected = 1;
  for (int32_t axis = tensor.ndim; axis-- > 0;) {
    if (tensor.shape[axis] == 1) continue;
    if (tensor.shape[axis] == 0) return true;
    if (tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

}  // namespace dougong::cpu
