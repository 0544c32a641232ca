// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <cmath>

#include "dispatch.h"
#include "generated/ops.h"
#include "shape_rules.h"
#include "views.h"

namespace dougong {

static const InputDef &input_def(const OpDef &op, int i) { return op.inputs[op.variadic ? 0 : i]; }

Device &common_device(const OpDef &op, const Arg *inputs, int count, Device *fallback) {
  Device *device = nullptr;
  int first = 0;
  for (int i = 0; i < count; ++i) {
    if (!inputs[i].tensor.defined()) continue;
    Device &found = inputs[i].tensor.device();
    if (device && device != &found)
      fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s is on %s and %s is on %s; move one of them with .to(...)", op.name,
           input_def(op, first).name, device->name().c_str(), input_def(op, i).name, found.name().c_str());
    if (!device) device = &found, first = i;
  }
  if (device) return *device;
  if (!fallback) fail(DG_STATUS_INVALID_ARGUMENT, "%s needs at least one tensor among its inputs", op.name);
  return *fallback;
}

static std::string accepted(const dg_dtype_t *list) {
  std::string text;
  for (; *list != DG_DTYPE_NONE; ++list) text += (text.empty() ? "" : ", ") + dtype_name(*list);
  return text;
}

static bool contains(const dg_dtype_t *list, dg_dtype_t dtype) {
  for (; *list != DG_DTYPE_NONE; ++list)
    if (*list == dtype) return true;
  return false;
}

static dg_dtype_t join(const OpDef &op, dg_dtype_t a, dg_dtype_t b) {
  if (a == DG_DTYPE_NONE || a == b) return b;
  const dg_dtype_t both = promote(a, b);
  if (both == DG_DTYPE_NONE)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s and %s have no common dtype; cast one of them", op.name,
         dtype_name(a).c_str(), dtype_name(b).c_str());
  return both;
}

// A weak number beside tensors of a dtype: it decides only when its kind is higher.
static dg_dtype_t join_number(dg_dtype_t dtype, const Scalar &value) {
  const dg_dtype_t own = value.kind == DG_SCALAR_COMPLEX ? DG_DTYPE_COMPLEX64
                         : value.kind == DG_SCALAR_FLOAT ? DG_DTYPE_FLOAT32
                         : value.boolean                 ? DG_DTYPE_BOOL
                                                         : DG_DTYPE_INT64;
  if (dtype == DG_DTYPE_NONE) return own;
  if (is_complex(dtype)) return dtype;
  if (is_complex(own)) return promote(dtype, own);
  if (is_floating(dtype)) return dtype;
  if (is_floating(own)) return own;
  return dtype == DG_DTYPE_BOOL ? own : dtype;
}

static dg_dtype_t attribute_dtype(const OpDef &op, const void *attributes, int variable) {
  for (int i = 0; i < op.attribute_count; ++i) {
    const AttributeDef &def = op.attributes[i];
    if (def.kind == AttributeKind::dtype && def.variable == variable)
      return *reinterpret_cast<const dg_dtype_t *>(static_cast<const char *>(attributes) + def.offset);
  }
  return DG_DTYPE_NONE;
}

static dg_dtype_t resolve_type(const OpDef &op, const Arg *inputs, int count, const void *attributes, int variable) {
  dg_dtype_t dtype = DG_DTYPE_NONE;
  bool numbers = false;
  for (int i = 0; i < count; ++i) {
    const InputDef &def = input_def(op, i);
    if (def.variable != variable || def.accumulate) continue;
    numbers |= inputs[i].is_scalar;
    if (inputs[i].tensor.defined()) dtype = join(op, dtype, inputs[i].tensor.dtype());
  }
  for (int i = 0; numbers && i < count; ++i)
    if (inputs[i].is_scalar && input_def(op, i).variable == variable) dtype = join_number(dtype, inputs[i].scalar);
  return dtype != DG_DTYPE_NONE ? dtype : attribute_dtype(op, attributes, variable);
}

void resolve_types(const OpDef &op, const Arg *inputs, int count, const void *attributes, dg_dtype_t *types) {
  for (int v = 0; v < op.type_count; ++v) {
    const TypeDef &type = op.types[v];
    dg_dtype_t dtype = resolve_type(op, inputs, count, attributes, v);
    if (type.integers != DG_DTYPE_NONE && dtype != DG_DTYPE_NONE && !is_floating(dtype) && !is_complex(dtype))
      dtype = type.integers;
    if (!contains(type.dtypes, dtype))
      fail(DG_STATUS_INVALID_ARGUMENT, "%s: dtype %s is not accepted%s; accepted are %s", op.name,
           dtype == DG_DTYPE_NONE ? "none" : dtype_name(dtype).c_str(), type.index ? " for an index" : "",
           accepted(type.dtypes).c_str());
    types[v] = dtype;
  }
}

static dg_dtype_t input_dtype(const InputDef &def, const dg_dtype_t *types) {
  if (def.variable < 0) return def.dtype;
  return def.accumulate ? accumulator(types[def.variable]) : types[def.variable];
}

void convert_inputs(const OpDef &op, Arg *inputs, int count, const dg_dtype_t *types, Device &device, Tensor *tensors) {
  for (int i = 0; i < count; ++i) {
    const InputDef &def = input_def(op, i);
    const dg_dtype_t dtype = input_dtype(def, types);
    Tensor &tensor = inputs[i].tensor;
    if (inputs[i].is_scalar) {
      tensors[i] = scalar_tensor(inputs[i].scalar, dtype, device);
    } else if (!tensor.defined()) {
      if (!def.optional) fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s is required", op.name, def.name);
    } else if (tensor.dtype() == dtype) {
      tensors[i] = std::move(tensor);
    } else {
      if (def.variable < 0)
        fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s must have dtype %s; found %s", op.name, def.name,
             dtype_name(dtype).c_str(), dtype_name(tensor.dtype()).c_str());
      tensors[i] = ops::cast(tensor, dtype);
    }
  }
}

static const Tensor &axis_owner(const OpDef &op, const AttributeDef &def, const Tensor *inputs) {
  return inputs[op.variadic ? 0 : def.of];
}

// Axes counted from 0, sorted; all of them where none were given.
static size_t normalize_axes(const OpDef &op, IntList given, int64_t ndim, int64_t *axes) {
  if (!given.given()) {
    for (int64_t i = 0; i < ndim; ++i) axes[i] = i;
    return size_t(ndim);
  }
  if (given.size() > DG_MAX_NDIM) fail(DG_STATUS_INVALID_ARGUMENT, "%s: %zu axes are too many", op.name, given.size());
  for (size_t i = 0; i < given.size(); ++i) axes[i] = normalize_axis(given[i], ndim);
  std::sort(axes, axes + given.size());
  for (size_t i = 1; i < given.size(); ++i)
    if (axes[i] == axes[i - 1])
      fail(DG_STATUS_INVALID_ARGUMENT, "%s: axis %lld is named twice", op.name, (long long)axes[i]);
  return ndim == 0 ? 0 : given.size();
}

const void *Attributes::normalize(const OpDef &op, const void *attributes, const Tensor *inputs) {
  if (!attributes) return nullptr;
  bool copied = false;
  for (int i = 0; i < op.attribute_count; ++i) {
    const AttributeDef &def = op.attributes[i];
    if (def.kind != AttributeKind::axis && def.kind != AttributeKind::axes && def.kind != AttributeKind::ints) continue;
    if (!copied) {
      std::memcpy(bytes_, attributes, op.attributes_size);
      copied = true;
    }
    if (def.kind == AttributeKind::axis) {
      auto &axis = *reinterpret_cast<int64_t *>(bytes_ + def.offset);
      axis = normalize_axis(axis, axis_owner(op, def, inputs).ndim());
    } else if (def.kind == AttributeKind::axes) {
      auto &list = *reinterpret_cast<IntList *>(bytes_ + def.offset);
      list = {axes_, normalize_axes(op, list, axis_owner(op, def, inputs).ndim(), axes_)};
    } else {
      const auto &list = *reinterpret_cast<const IntList *>(bytes_ + def.offset);
      if (def.length > 0 && list.size() != size_t(def.length))
        fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s must hold %d numbers; found %zu", op.name, def.name, def.length,
             list.size());
    }
  }
  return copied ? bytes_ : attributes;
}

dg_dtype_t output_dtype(const OutputDef &output, const dg_dtype_t *types) {
  if (output.variable < 0) return output.dtype;
  return output.accumulate ? accumulator(types[output.variable]) : types[output.variable];
}

// ---- Numbers as bytes ------------------------------------------------------------------------------------------

// The bits of a float of `exponent` and `mantissa` bits, rounded once, to nearest even.
static uint16_t encode_half(double value, int exponent, int mantissa) {
  const uint32_t sign = std::signbit(value) ? 1u << (exponent + mantissa) : 0;
  const uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  if (std::isnan(value)) return uint16_t(sign | infinity | 1u << (mantissa - 1));
  if (std::isinf(value)) return uint16_t(sign | infinity);
  int power = 0;
  std::frexp(value, &power);
  const int lowest = 2 - (1 << (exponent - 1));  // the exponent of the smallest normal number
  const int e = value == 0 ? lowest : std::max(power - 1, lowest);
  const auto scaled = uint64_t(std::nearbyint(std::ldexp(std::fabs(value), mantissa - e)));
  const uint64_t bits = scaled + (uint64_t(e - lowest) << mantissa);
  return uint16_t(sign | uint32_t(std::min<uint64_t>(bits, infinity)));
}

static double as_double(const Scalar &value) {
  return value.kind == DG_SCALAR_INT ? double(value.integer) : value.real;
}

static int64_t as_integer(const Scalar &value, double low, double high) {
  if (value.kind == DG_SCALAR_INT) return value.integer;
  if (std::isnan(value.real)) return 0;
  if (value.real <= low) return int64_t(low);
  return value.real >= high ? (high >= 9.2e18 ? INT64_MAX : int64_t(high)) : int64_t(value.real);
}

template <class T>
static size_t put(T value, void *bytes) {
  std::memcpy(bytes, &value, sizeof value);
  return sizeof value;
}

size_t encode_scalar(const Scalar &value, dg_dtype_t dtype, void *bytes) {
  const double real = as_double(value);
  switch (dtype) {
    case DG_DTYPE_BOOL:
      return put(uint8_t(value.kind == DG_SCALAR_INT ? value.integer != 0 : real != 0), bytes);
    case DG_DTYPE_INT8:
      return put(int8_t(as_integer(value, -128, 127)), bytes);
    case DG_DTYPE_INT16:
      return put(int16_t(as_integer(value, -32768, 32767)), bytes);
    case DG_DTYPE_INT32:
      return put(int32_t(as_integer(value, -2147483648., 2147483647.)), bytes);
    case DG_DTYPE_INT64:
      return put(as_integer(value, -9223372036854775808., 9223372036854775807.), bytes);
    case DG_DTYPE_UINT8:
      return put(uint8_t(as_integer(value, 0, 255)), bytes);
    case DG_DTYPE_UINT16:
      return put(uint16_t(as_integer(value, 0, 65535)), bytes);
    case DG_DTYPE_UINT32:
      return put(uint32_t(as_integer(value, 0, 4294967295.)), bytes);
    case DG_DTYPE_UINT64:
      return put(uint64_t(as_integer(value, 0, 9223372036854775807.)), bytes);
    case DG_DTYPE_FLOAT16:
      return put(encode_half(real, 5, 10), bytes);
    case DG_DTYPE_BFLOAT16:
      return put(encode_half(real, 8, 7), bytes);
    case DG_DTYPE_FLOAT32:
      return put(float(real), bytes);
    case DG_DTYPE_FLOAT64:
      return put(real, bytes);
    case DG_DTYPE_COMPLEX64:
      return put(float(real), bytes) + put(float(value.imaginary), static_cast<char *>(bytes) + 4);
    case DG_DTYPE_COMPLEX128:
      return put(real, bytes) + put(value.imaginary, static_cast<char *>(bytes) + 8);
    default:
      fail(DG_STATUS_UNSUPPORTED, "a number cannot be written as %s", dtype_name(dtype).c_str());
  }
}

}  // namespace dougong
