// Tensors of a call, seen and changed from the host through the base plugin's own copies.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "mutant.h"

namespace mutant {

Descriptor::Descriptor(const dg_tensor_t &from)
    : shape(from.shape, from.shape + from.ndim), strides(from.strides, from.strides + from.ndim), fields(from) {}

dg_tensor_t Descriptor::tensor() const {
  dg_tensor_t tensor = fields;
  tensor.shape = const_cast<int64_t *>(shape.data());
  tensor.strides = const_cast<int64_t *>(strides.data());
  return tensor;
}

void Descriptor::make_dense() {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
}

int64_t Descriptor::count() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Call::Call(const dg_kernel_call_t &from) : call_(from) {
  const dg_tensor_t nothing = {};
  for (int32_t i = 0; i < from.input_count; ++i) {
    present_.push_back(from.inputs[i] != nullptr);
    inputs.emplace_back(from.inputs[i] ? *from.inputs[i] : nothing);
  }
  for (int32_t i = 0; i < from.output_count; ++i) outputs.emplace_back(*from.outputs[i]);
}

const dg_kernel_call_t *Call::get() {
  tensors_.clear();
  for (const Descriptor &d : inputs) tensors_.push_back(d.tensor());
  for (const Descriptor &d : outputs) tensors_.push_back(d.tensor());
  input_table_.clear();
  output_table_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) input_table_.push_back(present_[i] ? &tensors_[i] : nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) output_table_.push_back(&tensors_[inputs.size() + i]);
  call_.inputs = input_table_.data();
  call_.outputs = output_table_.data();
  return &call_;
}

Elements::Elements(const dg_kernel_call_t &call, const dg_tensor_t &tensor)
    : call_(call), dtype_(tensor.dtype), data_(tensor.data) {
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
  int64_t count = 1, low = 0, high = 0;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    count *= tensor.shape[i];
    const int64_t reach = (tensor.shape[i] - 1) * tensor.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  begin_ = tensor.byte_offset + static_cast<uint64_t>(low * item);
  if (count == 0) return;
  span_.resize(static_cast<size_t>((high - low + 1) * item));
  base().device.copy_device_to_host(call.device, span_.data(), data_, begin_, span_.size(), call.stream);
  settle(call);
  std::vector<int64_t> index(static_cast<size_t>(tensor.ndim), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t place = -low;
    for (int32_t i = 0; i < tensor.ndim; ++i) place += index[i] * tensor.strides[i];
    places_.push_back(place * item);
    for (int32_t i = tensor.ndim; i-- > 0 && ++index[i] == tensor.shape[i];) index[i] = 0;
  }
}

uint64_t Elements::bits(size_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, (*this)[i], item_size(dtype_));
  return bits;
}

void Elements::set_bits(size_t i, uint64_t bits) { std::memcpy((*this)[i], &bits, item_size(dtype_)); }

namespace {
int mantissa_bits(dg_dtype_t dtype) {
  switch (dtype) {
    case DG_DTYPE_FLOAT16:
      return 10;
    case DG_DTYPE_BFLOAT16:
      return 7;
    case DG_DTYPE_FLOAT32:
      return 23;
    default:
      return 52;
  }
}
}  // namespace

bool Elements::is_nan(size_t i) { return is_float(dtype_) && std::isnan(number(i)); }

bool Elements::is_subnormal(size_t i) {
  if (!is_float(dtype_)) return false;
  const int width = static_cast<int>(item_size(dtype_)) * 8, mantissa = mantissa_bits(dtype_);
  const uint64_t magnitude = bits(i) & ~(uint64_t{1} << (width - 1));
  return magnitude != 0 && magnitude >> mantissa == 0;
}

double Elements::number(size_t i) {
  const int width = static_cast<int>(item_size(dtype_)) * 8, mantissa = mantissa_bits(dtype_);
  const int bias = (1 << (width - mantissa - 2)) - 1;
  const uint64_t all = bits(i), fraction = all & ((uint64_t{1} << mantissa) - 1);
  const int exponent = static_cast<int>(all >> mantissa & ((uint64_t{1} << (width - mantissa - 1)) - 1));
  const double sign = all >> (width - 1) & 1 ? -1.0 : 1.0;
  if (exponent == 2 * bias + 1) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), 1 - bias - mantissa);
  return sign * std::ldexp(static_cast<double>(fraction | uint64_t{1} << mantissa), exponent - bias - mantissa);
}

void Elements::store() {
  if (span_.empty()) return;
  base().device.copy_host_to_device(call_.device, data_, begin_, span_.data(), span_.size(), call_.stream);
  settle(call_);
}

Substitute::Substitute(const dg_kernel_call_t &call, Descriptor *descriptor, dg_dtype_t dtype, const void *bytes)
    : call_(call) {
  descriptor->make_dense();
  const size_t size = static_cast<size_t>(descriptor->count()) * item_size(dtype);
  base().device.memory_allocate(call.device, DG_MEMORY_DEVICE, size ? size : 1, &handle_);
  if (size) base().device.copy_host_to_device(call.device, handle_, 0, bytes, size, call.stream);
  descriptor->fields.data = handle_;
  descriptor->fields.byte_offset = 0;
  descriptor->fields.dtype = dtype;
}

Substitute::~Substitute() {
  settle(call_);
  base().device.memory_free(call_.device, DG_MEMORY_DEVICE, handle_);
}

dg_status_t settle(const dg_kernel_call_t &call) {
  return call.stream ? base().device.stream_synchronize(call.device, call.stream) : DG_STATUS_OK;
}

dg_status_t forward(const dg_kernel_t &original, const dg_kernel_call_t &call) { return original.launch(&call); }

}  // namespace mutant
