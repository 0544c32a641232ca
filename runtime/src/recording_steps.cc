// SPDX-License-Identifier: Apache-2.0
#include "recording_steps.h"

#include "profiler.h"
#include "stream.h"

namespace dougong {

void RecordedPlace::find(const Memories &memories) {
  const RecordedMemory &found = memories[size_t(memory)];
  device = found.device, handle = found.handle, offset = found.offset + relative;
}

KernelStep::KernelStep(const OpDef &op, const KernelEntry &entry, Device &device, const dg_kernel_call_t &call,
                       std::vector<Argument> arguments)
    : op(op), entry(entry), arguments(std::move(arguments)), device_(device), call_(call) {
  copy_sizes();
  for (const Argument &argument : this->arguments)
    pointers_.push_back(argument.memory < 0 ? nullptr : &argument.descriptor);
  call_.inputs = pointers_.data();
  call_.outputs = pointers_.data() + call.input_count;
  call_.workspace = call_.plan = nullptr;
  call_.workspace_offset = call_.workspace_size = 0;
  set_attributes(call.attributes);
}

KernelStep::~KernelStep() { drop_plan(); }

void KernelStep::copy_sizes() {
  size_t count = 0;
  for (const Argument &argument : arguments) count += 2 * size_t(argument.descriptor.ndim);
  sizes_.reserve(count);
  for (Argument &argument : arguments) {
    dg_tensor_t &tensor = argument.descriptor;
    for (int64_t **list : {&tensor.shape, &tensor.strides}) {
      int64_t *copy = sizes_.data() + sizes_.size();
      sizes_.insert(sizes_.end(), *list, *list + tensor.ndim);
      *list = copy;
    }
  }
}

void KernelStep::set_attributes(const void *attributes) {
  attributes_.assign(op, attributes);
  call_.attributes = attributes_.data();
  if (entry.kernel.plan) make_plan();
}

bool KernelStep::has_plain_attributes() const {
  for (int i = 0; i < op.attribute_count; ++i)
    if (op.attributes[i].kind == AttributeKind::axes || op.attributes[i].kind == AttributeKind::ints) return false;
  return attributes_.data() && !entry.kernel.plan;
}

void KernelStep::make_plan() {
  drop_plan();
  device_.plugin().check(entry.kernel.plan(&call_, &workspace_size, &call_.plan), op.name);
}

void KernelStep::drop_plan() {
  if (!call_.plan || !entry.kernel.plan_destroy || !device_.plugin().usable()) return;
  try {
    device_.synchronize();  // work that uses a plan must be done
  } catch (const Error &error) {
    device_.note_failure(error);
  }
  entry.kernel.plan_destroy(entry.kernel.user_data, call_.plan);
  call_.plan = nullptr;
}

void KernelStep::visit(const std::function<void(int, bool)> &see) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].memory >= 0) see(arguments[i].memory, int(i) >= call_.input_count);
  if (workspace >= 0) see(workspace, true);
}

bool KernelStep::has_shapes_of(const dg_kernel_call_t &call) const {
  if (call.input_count != call_.input_count) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const dg_tensor_t *other = int(i) < call.input_count ? call.inputs[i] : call.outputs[int(i) - call.input_count];
    if (!other != !pointers_[i]) return false;
    if (!other) continue;
    const dg_tensor_t &tensor = arguments[i].descriptor;
    if (other->dtype != tensor.dtype || other->ndim != tensor.ndim ||
        !std::equal(tensor.shape, tensor.shape + tensor.ndim, other->shape))
      return false;
  }
  return true;
}

void KernelStep::set_constant(int input, const Tensor &tensor) {
  dg_tensor_t &descriptor = arguments[size_t(input)].descriptor;
  descriptor.data = tensor.descriptor().data;
  descriptor.byte_offset = tensor.descriptor().byte_offset;
  for (auto &[place, held] : constants_)
    if (place == input) return void(held = tensor);
  constants_.emplace_back(input, tensor);
}

void KernelStep::place(const Memories &memories) {
  for (Argument &argument : arguments) {
    if (argument.memory < 0) continue;
    const RecordedMemory &memory = memories[size_t(argument.memory)];
    argument.descriptor.data = memory.handle;
    argument.descriptor.byte_offset = memory.offset + argument.relative;
  }
  if (workspace < 0) return;
  call_.workspace = memories[size_t(workspace)].handle;
  call_.workspace_offset = memories[size_t(workspace)].offset;
  call_.workspace_size = memories[size_t(workspace)].size;
}

void KernelStep::run() {
  Stream &stream = device_.current_stream();
  call_.stream = stream.handle();
  const DeviceSpan span(SpanKind::kernel, op.name, stream);
  const Submission submission(stream);
  const dg_status_t status = entry.kernel.launch(&call_);
  if (__builtin_expect(status != DG_STATUS_OK, 0))
    device_.plugin().raise(status, (std::string("kernel ") + op.name + " in a replay").c_str());
}

void TransferStep::place(const Memories &memories) { to_.find(memories), from_.find(memories); }

void TransferStep::run() {
  Device::copy_between(*to_.device, to_.handle, to_.offset, *from_.device, from_.handle, from_.offset, size_);
}

void UploadStep::place(const Memories &memories) { to_.find(memories); }

void UploadStep::run() {
  to_.device->copy_from_host(to_.handle, to_.offset, bytes_.data(), bytes_.size(), to_.device->current_stream());
}

}  // namespace dougong
