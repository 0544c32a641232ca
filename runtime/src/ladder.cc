// SPDX-License-Identifier: Apache-2.0
#include "ladder.h"

#include "allocator.h"
#include "arguments.h"
#include "autograd.h"
#include "dispatch.h"
#include "generated/ops.h"
#include "kernel_index.h"
#include "ledger.h"
#include "profiler.h"
#include "recording.h"
#include "registry.h"
#include "shape_rules.h"
#include "stream.h"
#include "views.h"

namespace dougong {

namespace {

thread_local bool first = false;  // decompositions before kernels

// Work below this many bytes is done before another thread could have been woken.
constexpr uint64_t unlock_bytes = 1 << 16;

// An input's descriptor with the shape of the output: broadcast axes have stride zero.
struct BroadcastView {
  dg_tensor_t descriptor;
  int64_t shape[DG_MAX_NDIM], strides[DG_MAX_NDIM];

  void make(const dg_tensor_t &tensor, const Shape &to) {
    descriptor = tensor;
    const int shift = int(to.size()) - tensor.ndim;
    for (int i = 0; i < int(to.size()); ++i) {
      shape[i] = to[i];
      const int k = i - shift;
      strides[i] = k < 0 || (tensor.shape[k] == 1 && to[i] != 1) ? 0 : tensor.strides[k];
    }
    descriptor.ndim = int32_t(to.size());
    descriptor.shape = shape, descriptor.strides = strides;
  }
};

// One attempt to run one call by one kernel of the plugin.
class Launch {
 public:
  Launch(const OpDef &op, const OpCall &call, Tensor *outputs, Device &device)
      : op_(op), call_(call), outputs_(outputs), device_(device) {
    if (call.input_count > max_inputs) {
      many_.resize(size_t(call.input_count));
      many_views_.resize(size_t(call.input_count));
      many_pointers_.resize(size_t(call.input_count));
    }
    inputs_ = many_.empty() ? few_ : many_.data();
    pointers_ = many_.empty() ? few_pointers_ : many_pointers_.data();
  }

  // Whether the kernel takes the call as it is.
  bool fits(const KernelEntry &entry) const {
    for (int i = 0; i < call_.input_count; ++i)
      if (call_.inputs[i].defined() && !fits_input(entry, call_.inputs[i])) return false;
    for (int i = 0; i < op_.output_count; ++i)
      if (outputs_[i].defined() && !fits_output(entry, outputs_[i])) return false;
    return true;
  }

  // Runs it after the repairs that it needs. False if the kernel said that it does not do this call.
  bool run(const KernelEntry &entry) {
    if (!repair_inputs(entry) || !choose_outputs(entry)) return false;
    const dg_status_t status = launch(entry);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_UNIMPLEMENTED) return false;
    if (status != DG_STATUS_OK) raise(status);
    for (int i = 0; i < op_.output_count; ++i)
      if (targets_[i] != outputs_[i]) copy_into(outputs_[i], targets_[i]);
    return true;
  }

 private:
  bool broadcasts(const Tensor &tensor) const { return op_.elementwise && !same_shape(tensor, outputs_[0]); }

  static bool aligned(const KernelEntry &entry, const Tensor &tensor) {
    return entry.kernel.alignment <= 1 || tensor.descriptor().byte_offset % entry.kernel.alignment == 0 ||
           tensor.numel() == 0;
  }

  bool fits_input(const KernelEntry &entry, const Tensor &tensor) const {
    return (entry.strided() || (tensor.is_contiguous() && !broadcasts(tensor))) && aligned(entry, tensor);
  }

  bool is_alias(const Tensor &output) const {
    for (int i = 0; i < op_.output_count; ++i)
      if (op_.outputs[i].alias >= 0 && outputs_[i] == output) return true;
    return false;
  }

  bool fits_output(const KernelEntry &entry, const Tensor &output) const {
    if (!(entry.strided() || output.is_contiguous()) || !aligned(entry, output)) return false;
    if (entry.in_place() || is_alias(output)) return true;
    for (int i = 0; i < call_.input_count; ++i)
      if (call_.inputs[i].defined() && overlap(call_.inputs[i], output) != Overlap::none) return false;
    return true;
  }

  bool repair_inputs(const KernelEntry &entry) {
    for (int i = 0; i < call_.input_count; ++i) {
      inputs_[i] = call_.inputs[i];
      pointers_[i] = nullptr;
      if (!inputs_[i].defined()) continue;
      if (!fits_input(entry, inputs_[i]) && !repair_input(entry, i)) return false;
      pointers_[i] = &inputs_[i].descriptor();
      if (!broadcasts(inputs_[i])) continue;
      BroadcastView &view = many_views_.empty() ? few_views_[i] : many_views_[size_t(i)];
      view.make(inputs_[i].descriptor(), outputs_[0].shape());
      pointers_[i] = &view.descriptor;
    }
    return true;
  }

  // A dense, aligned copy. An alias must stay where it is, and the copy op cannot be repaired by itself.
  bool repair_input(const KernelEntry &entry, int i) {
    const Tensor &input = call_.inputs[i];
    if (&op_ == &op_def(OpId::copy)) return false;
    for (int k = 0; k < op_.output_count; ++k)
      if (op_.outputs[k].alias == i) return false;
    const bool moved = (entry.strided() || input.is_contiguous()) && !aligned(entry, input);
    ledger_count(device_, op_, moved ? LedgerStep::aligned : LedgerStep::contiguous);
    const NoGrad no_grad;
    inputs_[i] = ops::copy(broadcasts(input) && !entry.strided() ? expand(input, outputs_[0].shape()) : input);
    return true;
  }

  bool choose_outputs(const KernelEntry &entry) {
    for (int i = 0; i < op_.output_count; ++i) {
      targets_[i] = outputs_[i];
      output_pointers_[i] = nullptr;
      if (!outputs_[i].defined()) continue;
      if (!fits_output(entry, outputs_[i])) {
        if (op_.outputs[i].alias >= 0 || &op_ == &op_def(OpId::copy)) return false;
        ledger_count(device_, op_, LedgerStep::contiguous);
        targets_[i] = Tensor::empty(outputs_[i].shape(), outputs_[i].dtype(), device_);
      }
      output_pointers_[i] = &targets_[i].descriptor();
    }
    return true;
  }

  dg_status_t launch(const KernelEntry &entry) {
    Stream &stream = device_.current_stream();
    dg_kernel_call_t call{sizeof(dg_kernel_call_t),
                          device_.handle(),
                          stream.handle(),
                          pointers_,
                          output_pointers_,
                          call_.input_count,
                          op_.output_count,
                          call_.attributes,
                          nullptr,
                          0,
                          0,
                          nullptr,
                          entry.kernel.user_data};
    if (Rehearsal *now = rehearsal()) return now->launch(op_, entry, call, inputs_);
    if (!device_.synchronous()) keep_for(stream);
    Tensor workspace;
    if (entry.kernel.plan) {
      const dg_status_t status = prepare(entry, call, workspace);
      if (status != DG_STATUS_OK) return status;
    }
    const dg_status_t status = submit(entry, call, stream);
    if (status == DG_STATUS_OK)
      if (Recorder *now = recorder()) now->add_kernel(op_, entry, device_, call, inputs_, targets_);
    return status;
  }

  dg_status_t submit(const KernelEntry &entry, const dg_kernel_call_t &call, Stream &stream) const {
    const Unlocked unlocked(!device_.synchronous() || work_bytes() > unlock_bytes);
    const DeviceSpan span(SpanKind::kernel, op_.name, stream);
    const Submission submission(stream);
    return entry.kernel.launch(&call);
  }

  uint64_t work_bytes() const {
    uint64_t bytes = 0;
    for (int i = 0; i < call_.input_count; ++i) bytes += inputs_[i].defined() ? inputs_[i].nbytes() : 0;
    for (int i = 0; i < op_.output_count; ++i) bytes += targets_[i].defined() ? targets_[i].nbytes() : 0;
    return bytes;
  }

  // Memory that another stream allocated is not reused before this stream is done with it.
  void keep_for(Stream &stream) {
    for (int i = 0; i < call_.input_count + op_.output_count; ++i) {
      const Tensor &tensor = i < call_.input_count ? inputs_[i] : targets_[i - call_.input_count];
      if (tensor.defined() && tensor->storage->block && tensor->storage->block->stream != &stream)
        device_.allocator().record_stream(tensor->storage->block, stream);
    }
  }

  // Everything that a plan may depend on, as bytes.
  std::string plan_key(const dg_kernel_call_t &call) const {
    std::string key;
    const auto add = [&key](const void *bytes, size_t size) { key.append(static_cast<const char *>(bytes), size); };
    const auto add_tensor = [&](const dg_tensor_t *tensor) {
      const int32_t head[] = {tensor ? tensor->ndim : -1, tensor ? int32_t(tensor->dtype) : 0};
      add(head, sizeof head);
      if (!tensor) return;
      add(tensor->shape, size_t(tensor->ndim) * sizeof(int64_t));
      add(tensor->strides, size_t(tensor->ndim) * sizeof(int64_t));
    };
    for (int i = 0; i < call.input_count; ++i) add_tensor(call.inputs[i]);
    for (int i = 0; i < call.output_count; ++i) add_tensor(call.outputs[i]);
    for (int i = 0; i < op_.attribute_count; ++i) {
      const AttributeDef &def = op_.attributes[i];
      const char *field = static_cast<const char *>(call.attributes) + def.offset;
      if (def.kind == AttributeKind::axes || def.kind == AttributeKind::ints) {
        const auto &list = *reinterpret_cast<const IntList *>(field);
        add(&list.count, sizeof list.count);
        add(list.data, list.count * sizeof(int64_t));
      } else {
        add(field, def.kind == AttributeKind::scalar ? sizeof(dg_scalar_t)
                   : def.kind == AttributeKind::boolean || def.kind == AttributeKind::enumeration ||
                           def.kind == AttributeKind::dtype
                       ? 4
                       : 8);
      }
    }
    return key;
  }

  dg_status_t prepare(const KernelEntry &entry, dg_kernel_call_t &call, Tensor &workspace) {
    constexpr size_t plan_limit = 4096;
    KernelEntry::Plan plan;
    {
      std::lock_guard<std::mutex> guard(entry.plan_mutex);
      const std::string key = plan_key(call);
      const auto found = entry.plans.find(key);
      if (found != entry.plans.end()) {
        plan = found->second;
      } else {
        if (entry.plans.size() >= plan_limit) forget_plans(entry);
        const dg_status_t status = entry.kernel.plan(&call, &plan.workspace_size, &plan.object);
        if (status != DG_STATUS_OK) return status;
        entry.plans.emplace(key, plan);
      }
    }
    call.plan = plan.object;
    if (plan.workspace_size == 0) return DG_STATUS_OK;
    workspace = Tensor::empty({int64_t(plan.workspace_size)}, DG_DTYPE_UINT8, device_);
    call.workspace = workspace->storage->handle;
    call.workspace_offset = workspace->storage->offset;
    call.workspace_size = plan.workspace_size;
    return DG_STATUS_OK;
  }

  void forget_plans(const KernelEntry &entry) {
    device_.synchronize();  // work that uses a plan must be done
    for (const auto &[key, plan] : entry.plans)
      if (plan.object && entry.kernel.plan_destroy) entry.kernel.plan_destroy(entry.kernel.user_data, plan.object);
    entry.plans.clear();
  }

  [[noreturn]] void raise(dg_status_t status) {
    const std::string what = std::string("kernel ") + op_.name + " with " + describe_inputs(op_, call_);
    device_.plugin().raise(status, what.c_str());
  }

  const OpDef &op_;
  const OpCall &call_;
  Tensor *outputs_;
  Device &device_;
  Tensor *inputs_;
  const dg_tensor_t **pointers_;
  Tensor few_[max_inputs];
  BroadcastView few_views_[max_inputs];
  const dg_tensor_t *few_pointers_[max_inputs];
  std::vector<Tensor> many_;
  std::vector<BroadcastView> many_views_;
  std::vector<const dg_tensor_t *> many_pointers_;
  Tensor targets_[max_outputs];
  const dg_tensor_t *output_pointers_[max_outputs];
};

// The first kernel that takes the call as it is, else the first that takes it after a repair.
bool run_native(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device) {
  const auto &candidates = KernelIndex::of(device).candidates(op);
  if (candidates.empty()) return false;
  Launch launch(op, call, outputs, device);
  for (const bool repaired : {false, true})
    for (const auto &entry : candidates)
      if (entry->accepts(op, types) && launch.fits(*entry) == !repaired && launch.run(*entry)) return true;
  return false;
}

// The same view over a copy in the host's memory of the bytes that it spans.
Tensor mirror(const Tensor &tensor, Device &host) {
  const Span span = byte_span(tensor.descriptor());
  auto storage = make_ref<Storage>(host, uint64_t(span.high - span.low));
  Device &device = tensor.device();
  const auto first = uint64_t(int64_t(tensor.descriptor().byte_offset) + span.low);
  if (Rehearsal *now = rehearsal(); now && storage->size > 0) {
    now->transfer(tensor->storage, first);
  } else if (storage->size > 0) {
    device.copy_to_host(static_cast<char *>(storage->handle) + storage->offset, tensor->storage->handle, first,
                        storage->size, device.current_stream());
    if (Recorder *now = recorder()) now->add_transfer(storage, storage->offset, tensor->storage, first, storage->size);
  }
  return Tensor::over(storage, tensor.dtype(), tensor.shape(), tensor.strides(), uint64_t(-span.low));
}

void write_back(const Tensor &tensor, const Tensor &copy) {
  const Span span = byte_span(tensor.descriptor());
  if (span.high == span.low) return;
  Device &device = tensor.device();
  const auto first = uint64_t(int64_t(tensor.descriptor().byte_offset) + span.low);
  const auto size = uint64_t(span.high - span.low);
  if (Rehearsal *now = rehearsal()) return now->transfer(copy->storage, first);
  device.copy_from_host(tensor->storage->handle, first, copy.host_data() + span.low, size, device.current_stream());
  if (Recorder *now = recorder())
    now->add_transfer(tensor->storage, first, copy->storage,
                      uint64_t(int64_t(copy.descriptor().byte_offset) + span.low), size);
}

bool has_kernel(const OpDef &op, Device &device) { return !KernelIndex::of(device).candidates(op).empty(); }

// The first op that neither has a kernel on the device nor is made of ops that have; null if all of it can run there.
const OpDef *missing_part(const OpDef &op, Device &device) {
  for (const OpId *part = op.parts; &op_def(*part) != &op; ++part) {
    const OpDef &def = op_def(*part);
    if (has_kernel(def, device)) continue;
    if (!def.decompose) return &def;
    if (const OpDef *missing = missing_part(def, device)) return missing;
  }
  return nullptr;
}

// Step 4: the CPU's kernels on copies. What lies between the elements of a strided output comes along, and goes back as
// it was.
void run_on_host(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device) {
  Device &host = Registry::get().device("cpu:0");
  if (&host == &device)
    fail(DG_STATUS_UNSUPPORTED, "%s has no kernel for dtype %s on %s, the last step of the ladder", op.name,
         op.type_count ? dtype_name(types[0]).c_str() : "none", host.name().c_str());
  ledger_count(device, op, LedgerStep::host, op.decompose ? missing_part(op, device) : nullptr);
  const Unlocked unlocked;
  std::vector<Tensor> inputs(size_t(call.input_count));
  for (int i = 0; i < call.input_count; ++i)
    if (call.inputs[i].defined()) inputs[size_t(i)] = mirror(call.inputs[i], host);
  Tensor results[max_outputs];
  for (int i = 0; i < op.output_count; ++i) {
    if (!outputs[i].defined()) continue;
    const int alias = op.outputs[i].alias;
    if (alias >= 0)
      results[i] = inputs[size_t(alias)];
    else if (outputs[i].is_contiguous())
      results[i] = Tensor::empty(outputs[i].shape(), outputs[i].dtype(), host);
    else
      results[i] = mirror(outputs[i], host);
  }
  Outputs computed;
  std::copy(results, results + op.output_count, computed.begin());
  climb(op, OpCall{inputs.data(), call.input_count, call.attributes}, types, computed.data(), host);
  for (int i = 0; i < op.output_count; ++i) {
    if (!outputs[i].defined()) continue;
    if (computed[size_t(i)] != results[i]) copy_into(results[i], computed[size_t(i)]);
    write_back(outputs[i], results[i]);
  }
}

void check_result(const OpDef &op, const Tensor &result, const Tensor &wanted) {
  if (!result.defined() || result.shape() != wanted.shape())
    fail(DG_STATUS_INTERNAL, "%s: its decomposition gave %s, not the shape %s", op.name,
         result.defined() ? result.shape().text().c_str() : "nothing", wanted.shape().text().c_str());
}

void run_decomposed(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device) {
  ledger_count(device, op, LedgerStep::decomposed);
  const NoGrad no_grad;
  Outputs results = decompose(op, call, types, device);
  for (int i = 0; i < op.output_count; ++i) {
    if (!outputs[i].defined()) continue;
    check_result(op, results[size_t(i)], outputs[i]);
    if (op.outputs[i].alias >= 0)
      copy_into(outputs[i], results[size_t(i)]);
    else
      outputs[i] = contiguous(results[size_t(i)]);
  }
}

// Step 3 comes before step 4 where the device can do all of it; on the host it is the last step.
bool decomposes(const OpDef &op, Device &device) {
  return op.decompose && (device.plugin().name() == "cpu" || !missing_part(op, device));
}

}  // namespace

void climb(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Tensor *outputs, Device &device) {
  bool any = false;
  for (int i = 0; i < op.output_count; ++i) any |= outputs[i].defined() && outputs[i].numel() > 0;
  if (!any) return;
  if (first && op.decompose) return run_decomposed(op, call, types, outputs, device);
  if (run_native(op, call, types, outputs, device)) return;
  // Step 2, a kernel generated for the plugin's compiler, comes here.
  if (decomposes(op, device)) return run_decomposed(op, call, types, outputs, device);
  run_on_host(op, call, types, outputs, device);
}

Outputs decompose(const OpDef &op, const OpCall &call, const dg_dtype_t *types, Device &device) {
  Outputs results;
  op.decompose(call, device, results);
  for (int i = 0; i < op.output_count; ++i) {
    Tensor &result = results[size_t(i)];
    if (!result.defined()) continue;
    const dg_dtype_t dtype = output_dtype(op.outputs[i], types);
    if (result.dtype() != dtype) result = ops::cast(result, dtype);
    for (int k = 0; k < call.input_count; ++k)
      if (call.inputs[k].defined() && call.inputs[k]->storage == result->storage) result = ops::copy(result);
  }
  return results;
}

bool decompositions_first() { return first; }
void set_decompositions_first(bool value) { first = value; }

}  // namespace dougong
