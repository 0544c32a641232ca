// SPDX-License-Identifier: Apache-2.0
#include "scalar.h"

namespace dougong::cpu {

// start + i * step, exactly modulo 2^64 where both are integers.
static dg_scalar_t element_at(const dg_arange_attributes_t &a, int64_t i) {
  dg_scalar_t scalar{};
  if (a.start.kind == DG_SCALAR_INT && a.step.kind == DG_SCALAR_INT) {
    scalar.kind = DG_SCALAR_INT;
    scalar.integer = int64_t(uint64_t(a.start.integer) + uint64_t(i) * uint64_t(a.step.integer));
    return scalar;
  }
  scalar.kind = DG_SCALAR_FLOAT;
  scalar.real = from_scalar<double>(a.start) + double(i) * from_scalar<double>(a.step);
  return scalar;
}

static dg_status_t arange_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_arange_attributes_t>(call);
  const dg_tensor_t &y = *call->outputs[0];
  return with_dtype(dtype_of(y.dtype), [&](auto type) {
    using T = decltype(type);
    int64_t count = y.shape[0], stride = y.shape[0] > 1 ? y.strides[0] : 0;
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<T *>(address(y))[i * stride] = element_from<T>(element_at(a, i));
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_arange = kernel(DG_OP_ARANGE, any_layout, arange_launch);

}  // namespace dougong::cpu
