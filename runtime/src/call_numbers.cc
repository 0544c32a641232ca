// SPDX-License-Identifier: Apache-2.0
#include "call_numbers.h"

#include <cstring>

#include "dtype.h"
#include "tensor.h"

namespace dougong {

namespace {

constexpr int64_t few_results = 1024;

const void *field(const void *attributes, const AttributeDef &def) {
  return static_cast<const char *>(attributes) + def.offset;
}

template <class T>
T read(const void *attributes, const AttributeDef &def) {
  T value;
  std::memcpy(&value, field(attributes, def), sizeof value);
  return value;
}

// Attributes that are in the source rather than among the arguments: what decides between ways to compute.
bool is_structural(AttributeKind kind) {
  return kind == AttributeKind::boolean || kind == AttributeKind::dtype || kind == AttributeKind::axis ||
         kind == AttributeKind::axes || kind == AttributeKind::enumeration;
}

std::string json_list(const IntList &list) {
  std::string text = "[";
  for (size_t i = 0; i < list.count; ++i) text += (i ? "," : "") + std::to_string(list.data[i]);
  return text + "]";
}

std::string json(const void *attributes, const AttributeDef &def) {
  switch (def.kind) {
    case AttributeKind::boolean:
      return read<int32_t>(attributes, def) ? "true" : "false";
    case AttributeKind::dtype:
      return '"' + dtype_name(read<dg_dtype_t>(attributes, def)) + '"';
    case AttributeKind::enumeration:
      return std::string("\"") + def.values[read<int32_t>(attributes, def)] + '"';
    case AttributeKind::axes:
      return json_list(*static_cast<const IntList *>(field(attributes, def)));
    default:
      return std::to_string(read<int64_t>(attributes, def));
  }
}

// "x_stride12" is ("x_stride", 12).
bool split_number(const std::string &name, std::string &stem, size_t &number) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size()) return false;
  stem = name.substr(0, end + 1);
  number = std::stoul(name.substr(end + 1));
  return true;
}

}  // namespace

CallNumbers::CallNumbers(const OpDef &op, const dg_kernel_call_t &call) : op_(op), attributes_(call.attributes) {
  read_operands(call);
  if (op.elementwise) join_axes();
  wide_index_ = needs_wide_index();
  few_ = numel_ < few_results;
  read_attributes();
  write_form();
}

void CallNumbers::read_operands(const dg_kernel_call_t &call) {
  for (int i = 0; i < call.input_count + call.output_count; ++i) {
    const bool input = i < call.input_count;
    const int k = input ? i : i - call.input_count;
    const dg_tensor_t *tensor = input ? call.inputs[k] : call.outputs[k];
    std::string name = input ? op_.inputs[op_.variadic ? 0 : k].name : op_.outputs[k].name;
    if (input && op_.variadic) name += std::to_string(k);
    Operand operand{std::move(name), tensor, {}, {}, false};
    if (tensor) {
      operand.sizes.assign(tensor->shape, tensor->shape + tensor->ndim);
      operand.strides.assign(tensor->strides, tensor->strides + tensor->ndim);
      operand.dense =
          is_dense(Shape(tensor->shape, size_t(tensor->ndim)), Shape(tensor->strides, size_t(tensor->ndim)));
    }
    operands_.push_back(std::move(operand));
  }
  const dg_tensor_t *first = call.outputs[0];
  numel_ = first ? 1 : 0;
  for (int i = 0; first && i < first->ndim; ++i) numel_ *= first->shape[i];
}

// Axes of size one go; two neighbours that every operand walks as one become one.
void CallNumbers::join_axes() {
  for (const Operand &operand : operands_)
    if (operand.tensor && sizes_.size() < operand.sizes.size()) sizes_ = operand.sizes;
  std::vector<size_t> kept;
  const auto joins = [&](size_t outer, size_t inner) {
    for (const Operand &operand : operands_)
      if (operand.tensor && operand.strides[outer] != operand.strides[inner] * sizes_[inner]) return false;
    return true;
  };
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (sizes_[axis] == 1) continue;
    if (!kept.empty() && joins(kept.back(), axis)) {
      sizes.back() *= sizes_[axis];
      kept.back() = axis;
    } else {
      kept.push_back(axis);
      sizes.push_back(sizes_[axis]);
    }
  }
  for (Operand &operand : operands_) {
    if (!operand.tensor) continue;
    std::vector<int64_t> strides;
    for (size_t axis : kept) strides.push_back(operand.strides[axis]);
    operand.strides = strides;
    operand.dense = kept.empty() || (kept.size() == 1 && strides[0] == 1);
  }
  sizes_ = sizes;
}

bool CallNumbers::needs_wide_index() const {
  constexpr int64_t limit = INT32_MAX;
  if (numel_ > limit) return true;
  for (const Operand &operand : operands_) {
    if (!operand.tensor) continue;
    const Span span = byte_span(*operand.tensor);
    const auto last = int64_t(operand.tensor->byte_offset) + span.high;
    if (last / int64_t(dtype_size(operand.tensor->dtype)) > limit) return true;
  }
  return false;
}

void CallNumbers::read_attributes() {
  for (int i = 0; i < op_.attribute_count; ++i) {
    const AttributeDef &def = op_.attributes[i];
    if (is_structural(def.kind)) structural_.emplace_back(def.name, json(attributes_, def));
    if (def.kind == AttributeKind::ints)
      lists_.emplace_back(def.name, int(static_cast<const IntList *>(field(attributes_, def))->count));
  }
}

void CallNumbers::write_form() {
  form_ = wide_index_ ? "l" : "i";
  if (!op_.elementwise) form_ += few_ ? "f" : "m";
  form_ += std::to_string(sizes_.size());
  for (const Operand &operand : operands_) {
    form_ += operand.tensor ? operand.dense ? 'd' : 's' : '-';
    if (!operand.tensor) continue;
    form_ += std::to_string(operand.tensor->dtype) + ",";
    if (!op_.elementwise) form_ += std::to_string(operand.tensor->ndim);
  }
  for (const auto &[name, value] : structural_) form_ += ";" + value;
  for (const auto &[name, count] : lists_) form_ += ";" + std::to_string(count);
}

SourceRequest CallNumbers::request() const {
  SourceRequest request;
  request.op = op_.name;
  for (const Operand &operand : operands_)
    request.operands.push_back({operand.name, operand.tensor ? dtype_name(operand.tensor->dtype) : "",
                                operand.tensor ? operand.tensor->ndim : 0, operand.dense});
  request.rank = int(sizes_.size());
  request.wide_index = wide_index_;
  request.few = few_;
  request.attributes = structural_;
  request.lists = lists_;
  return request;
}

int CallNumbers::operand(const std::string &name) const {
  for (size_t i = 0; i < operands_.size(); ++i)
    if (operands_[i].name == name && operands_[i].tensor) return int(i);
  fail(DG_STATUS_INTERNAL, "the generated source of %s asks for %s, which the call does not have", op_.name,
       name.c_str());
}

int CallNumbers::offset_of(const std::string &name) const {
  constexpr size_t length = sizeof "_offset" - 1;
  if (name.size() <= length || name.compare(name.size() - length, length, "_offset") != 0) return -1;
  const std::string stem = name.substr(0, name.size() - length);
  for (size_t i = 0; i < operands_.size(); ++i)
    if (operands_[i].name == stem && operands_[i].tensor) return int(i);
  return -1;
}

bool CallNumbers::find_list(const std::string &name, int64_t &value) const {
  std::string stem;
  size_t number = 0;
  if (!split_number(name, stem, number)) return false;
  if (stem == "size" && number < sizes_.size()) {
    value = sizes_[number];
    return true;
  }
  for (const Operand &operand : operands_) {
    if (stem == operand.name + "_size" && number < operand.sizes.size())
      value = operand.sizes[number];
    else if (stem == operand.name + "_stride" && number < operand.strides.size())
      value = operand.strides[number];
    else
      continue;
    return true;
  }
  for (int i = 0; i < op_.attribute_count; ++i) {
    const AttributeDef &def = op_.attributes[i];
    if (def.kind != AttributeKind::ints || stem != def.name) continue;
    const auto &list = *static_cast<const IntList *>(field(attributes_, def));
    if (number >= list.count) return false;
    value = list.data[number];
    return true;
  }
  return false;
}

int64_t CallNumbers::integer(const std::string &name) const {
  int64_t value = 0;
  if (name == "numel") return numel_;
  for (int i = 0; i < op_.attribute_count; ++i) {
    const AttributeDef &def = op_.attributes[i];
    if (name != def.name) continue;
    if (def.kind == AttributeKind::scalar) {
      const auto scalar = read<dg_scalar_t>(attributes_, def);
      return scalar.kind == DG_SCALAR_INT ? scalar.integer : int64_t(scalar.real);
    }
    return read<int64_t>(attributes_, def);
  }
  if (find_list(name, value)) return value;
  fail(DG_STATUS_INTERNAL, "the generated source of %s asks for the number %s, which the call does not have", op_.name,
       name.c_str());
}

double CallNumbers::real(const std::string &name) const {
  for (int i = 0; i < op_.attribute_count; ++i) {
    const AttributeDef &def = op_.attributes[i];
    if (name != def.name) continue;
    if (def.kind == AttributeKind::real) return read<double>(attributes_, def);
    if (def.kind == AttributeKind::scalar) {
      const auto scalar = read<dg_scalar_t>(attributes_, def);
      return scalar.kind == DG_SCALAR_INT ? double(scalar.integer) : scalar.real;
    }
  }
  return double(integer(name));
}

uint32_t CallNumbers::store(const std::string &name, const std::string &type, void *to) const {
  const auto put = [to](auto value) {
    if (to) std::memcpy(to, &value, sizeof value);
    return uint32_t(sizeof value);
  };
  if (!to) return type == "int" ? 4 : 8;
  if (type == "int") return put(int32_t(integer(name)));
  if (type == "float") return put(float(real(name)));
  if (type == "double") return put(real(name));
  return put(integer(name));
}

}  // namespace dougong
