// The first half of a call: one device, final dtypes, numbers made tensors, attributes normalised.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"

namespace dougong {

// The device that all tensors among the inputs share, or `fallback` if there is none. Throws with both names.
Device &common_device(const OpDef &op, const Arg *inputs, int count, Device *fallback);

// The dtype of each of the op's type variables. Throws with the dtype found and those accepted.
void resolve_types(const OpDef &op, const Arg *inputs, int count, const void *attributes, dg_dtype_t *types);

// The inputs as tensors of their final dtype; conversions are recorded by autograd.
void convert_inputs(const OpDef &op, Arg *inputs, int count, const dg_dtype_t *types, Device &device, Tensor *tensors);

// The attributes as kernels see them: axes counted from 0 and sorted, no lists left out.
class Attributes {
 public:
  const void *normalize(const OpDef &op, const void *attributes, const Tensor *inputs);

 private:
  alignas(16) char bytes_[256];
  int64_t axes_[DG_MAX_NDIM];
};

// The dtype of an output.
dg_dtype_t output_dtype(const OutputDef &output, const dg_dtype_t *types);

// Writes the bytes of a number as this dtype; at most 16. Returns how many. Conversions follow the cast op.
size_t encode_scalar(const Scalar &value, dg_dtype_t dtype, void *bytes);

}  // namespace dougong
