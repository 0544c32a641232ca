// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <dougong/dg_ops.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/error.h"
#include "cpu/kernel_table.h"
#include "plugin.h"

namespace sim::plugin {

namespace {

// The lists that the attributes of an op point to; the table is made from dg_ops.h.
struct AttributeList {
  const char *op;
  size_t pointer, count;  // offsets of the fields
};
constexpr AttributeList attribute_lists[] = {
#include "attribute_lists.inc"
};

// One launch, copied: the host's descriptors and attributes are valid during the call only.
class Call {
 public:
  Call(const dg_kernel_t &kernel, const dg_kernel_call_t &call);
  Call(const Call &) = delete;

  // Puts the workers' addresses in place of the handles.
  dg_status_t resolve(const Options &options, Arena &memory);
  dg_status_t run() const;

 private:
  void copy_tensor(const dg_tensor_t *tensor);
  void copy_attributes(const void *attributes);
  dg_status_t check(const Options &options, const dg_tensor_t &tensor) const;

  const dg_kernel_t &kernel_;
  dg_kernel_call_t call_{};
  std::vector<dg_tensor_t> tensors_;
  std::vector<const dg_tensor_t *> pointers_;  // inputs, then outputs; null: left out
  std::vector<int64_t> numbers_;               // shapes, strides and attribute lists
  std::vector<std::max_align_t> attributes_;
};

// Reads the part of the struct that the host has filled.
template <class T>
bool read(const void *attributes, size_t offset, T *out_value) {
  size_t size;
  std::memcpy(&size, attributes, sizeof size);
  if (offset + sizeof(T) > size) return false;
  std::memcpy(out_value, static_cast<const char *>(attributes) + offset, sizeof(T));
  return true;
}

// Calls f(list, pointer, length) for each list that the attributes hold.
template <class F>
void for_each_list(const dg_kernel_t &kernel, const void *attributes, F f) {
  if (!attributes) return;
  for (const AttributeList &list : attribute_lists) {
    const int64_t *pointer;
    size_t length;
    if (std::strcmp(list.op, kernel.op) != 0 || !read(attributes, list.pointer, &pointer) ||
        !read(attributes, list.count, &length))
      continue;
    if (pointer) f(list, pointer, length);
  }
}

size_t number_count(const dg_kernel_t &kernel, const dg_kernel_call_t &call) {
  size_t count = 0;
  const auto add = [&](const dg_tensor_t *tensor) { count += tensor ? 2 * size_t(tensor->ndim) : 0; };
  std::for_each(call.inputs, call.inputs + call.input_count, add);
  std::for_each(call.outputs, call.outputs + call.output_count, add);
  for_each_list(kernel, call.attributes, [&](auto &, auto *, size_t length) { count += length; });
  return count;
}

Call::Call(const dg_kernel_t &kernel, const dg_kernel_call_t &call) : kernel_(kernel) {
  std::memcpy(&call_, &call, std::min(call.struct_size, sizeof call_));
  call_.struct_size = sizeof call_;
  call_.user_data = kernel.user_data;
  const size_t count = size_t(call.input_count) + size_t(call.output_count);
  tensors_.reserve(count);  // what is pointed to may not move
  pointers_.reserve(count);
  numbers_.reserve(number_count(kernel, call));
  for (int32_t i = 0; i < call.input_count; ++i) copy_tensor(call.inputs[i]);
  for (int32_t i = 0; i < call.output_count; ++i) copy_tensor(call.outputs[i]);
  call_.inputs = pointers_.data();
  call_.outputs = pointers_.data() + call.input_count;
  if (call.attributes) copy_attributes(call.attributes);
}

void Call::copy_tensor(const dg_tensor_t *tensor) {
  if (!tensor) return pointers_.push_back(nullptr);
  tensors_.push_back(*tensor);
  dg_tensor_t &copy = tensors_.back();
  const auto keep = [&](const int64_t *numbers) {
    int64_t *place = numbers_.data() + numbers_.size();
    numbers_.insert(numbers_.end(), numbers, numbers + tensor->ndim);
    return place;
  };
  copy.shape = keep(tensor->shape);
  copy.strides = keep(tensor->strides);
  pointers_.push_back(&copy);
}

void Call::copy_attributes(const void *attributes) {
  size_t size;
  std::memcpy(&size, attributes, sizeof size);
  attributes_.resize((size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(attributes_.data(), attributes, size);
  for_each_list(kernel_, attributes, [&](const AttributeList &list, const int64_t *numbers, size_t length) {
    const int64_t *place = numbers_.data() + numbers_.size();
    numbers_.insert(numbers_.end(), numbers, numbers + length);
    std::memcpy(reinterpret_cast<char *>(attributes_.data()) + list.pointer, &place, sizeof place);
  });
  call_.attributes = attributes_.data();
}

// Elements before and behind the first one that the strides reach.
struct Reach {
  int64_t before = 0, behind = 0;
  bool empty = false;
};

Reach reach_of(const dg_tensor_t &tensor) {
  Reach reach;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const int64_t size = tensor.shape[axis];
    if (size == 0) reach.empty = true;
    if (size > 1) (tensor.strides[axis] < 0 ? reach.before : reach.behind) += (size - 1) * tensor.strides[axis];
  }
  return reach;
}

bool is_dense(const dg_tensor_t &tensor) {
  int64_t expected = 1;
  for (int32_t axis = tensor.ndim; axis-- > 0;) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

// Holds the host to what the kernel declared. `data` is an address already.
dg_status_t Call::check(const Options &options, const dg_tensor_t &tensor) const {
  if (options.dense_only && !is_dense(tensor))
    return fail(DG_STATUS_INVALID_ARGUMENT, "sim: %s: its kernel takes dense tensors only, and got a strided one",
                kernel_.op);
  if (options.kernel_alignment && reinterpret_cast<uintptr_t>(tensor.data) % options.kernel_alignment)
    return fail(DG_STATUS_INVALID_ARGUMENT, "sim: %s: its kernel wants tensors aligned to %llu bytes, and got another",
                kernel_.op, static_cast<unsigned long long>(options.kernel_alignment));
  return DG_STATUS_OK;
}

dg_status_t Call::resolve(const Options &options, Arena &memory) {
  for (dg_tensor_t &tensor : tensors_) {
    const int64_t item = int64_t(tensor.dtype >> 8 & 0xff) / 8;
    const Reach reach = reach_of(tensor);
    char *address = nullptr;
    dg_status_t status = DG_STATUS_OK;
    if (!reach.empty)
      status = memory.resolve(tensor.data, tensor.byte_offset + uint64_t(reach.before * item),
                              uint64_t((reach.behind - reach.before + 1) * item), &address);
    tensor.data = reach.empty ? nullptr : address - reach.before * item;
    tensor.byte_offset = 0;
    if (status == DG_STATUS_OK && !reach.empty) status = check(options, tensor);
    if (status != DG_STATUS_OK) return status;
  }
  if (!call_.workspace || !call_.workspace_size) return DG_STATUS_OK;
  char *address;
  const dg_status_t status = memory.resolve(call_.workspace, call_.workspace_offset, call_.workspace_size, &address);
  call_.workspace = address;
  call_.workspace_offset = 0;
  return status;
}

dg_status_t Call::run() const {
  const dg_status_t status = kernel_.launch(&call_);
  return status == DG_STATUS_OK ? status : fail(status, "%s", dougong::cpu::last_error());
}

const dg_kernel_t &cpu_kernel(const void *user_data) { return *static_cast<const dg_kernel_t *>(user_data); }

bool has_fp64(const dg_kernel_call_t &call) {
  const auto is_wide = [](const dg_tensor_t *tensor) {
    return tensor && (tensor->dtype == DG_DTYPE_FLOAT64 || tensor->dtype == DG_DTYPE_COMPLEX128);
  };
  return std::any_of(call.inputs, call.inputs + call.input_count, is_wide) ||
         std::any_of(call.outputs, call.outputs + call.output_count, is_wide);
}

dg_status_t check_dtypes(const dg_kernel_call_t &call) {
  if (!call.device->context.options.no_fp64 || !has_fp64(call)) return DG_STATUS_OK;
  return fail(DG_STATUS_UNSUPPORTED, "sim: %s: the chip has no float64", cpu_kernel(call.user_data).op);
}

dg_status_t launch(const dg_kernel_call_t *call) {
  Fault fault;
  Queue *queue;
  dg_status_t status = begin(call->device, "kernel_launch", &fault);
  if (status == DG_STATUS_OK) status = queue_of(call->device, call->stream, &queue);
  if (status == DG_STATUS_OK) status = check_dtypes(*call);
  if (status != DG_STATUS_OK) return status;
  const auto copy = std::make_shared<Call>(cpu_kernel(call->user_data), *call);
  status = copy->resolve(call->device->context.options, call->device->engine->memory());
  if (status != DG_STATUS_OK) return status;
  queue->submit(with_fault([copy] { return copy->run(); }, fault));
  return finish(*queue, call->stream);
}

dg_status_t plan(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan) {
  const dg_status_t status = check_dtypes(*call);
  if (status != DG_STATUS_OK) return status;
  const dg_kernel_t &kernel = cpu_kernel(call->user_data);
  dg_kernel_call_t copy{};
  std::memcpy(&copy, call, std::min(call->struct_size, sizeof copy));
  copy.user_data = kernel.user_data;
  const dg_status_t planned = kernel.plan(&copy, out_workspace_size, out_plan);
  return planned == DG_STATUS_OK ? planned : fail(planned, "%s", dougong::cpu::last_error());
}

void plan_destroy(void *user_data, void *plan) {
  const dg_kernel_t &kernel = cpu_kernel(user_data);
  kernel.plan_destroy(kernel.user_data, plan);
}

dg_kernel_t wrap(const dg_kernel_t &kernel, const Options &options) {
  dg_kernel_t entry = kernel;
  entry.user_data = const_cast<dg_kernel_t *>(&kernel);
  entry.launch = Guarded<launch>::call;
  if (kernel.plan) entry.plan = Guarded<plan>::call;
  if (kernel.plan_destroy) entry.plan_destroy = plan_destroy;
  if (options.dense_only) entry.flags &= ~uint32_t(DG_KERNEL_STRIDED);
  entry.alignment = uint32_t(std::max<uint64_t>(entry.alignment, options.kernel_alignment));
  return entry;
}

}  // namespace

Kernels::Kernels(const Options &options) {
  entries_.reserve(dougong::cpu::kernel_count);
  for (size_t i = 0; i < dougong::cpu::kernel_count; ++i)
    entries_.push_back(wrap(*dougong::cpu::kernel_table[i], options));
  for (const dg_kernel_t &entry : entries_) table_.push_back(&entry);
}

}  // namespace sim::plugin
