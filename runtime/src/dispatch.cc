// SPDX-License-Identifier: Apache-2.0
#include "dispatch.h"

#include "allocator.h"
#include "arguments.h"
#include "autograd.h"
#include "generated/ops.h"
#include "indexing.h"
#include "ladder.h"
#include "profiler.h"
#include "recording.h"
#include "shape_rules.h"
#include "stream.h"
#include "views.h"

namespace dougong {

InterpreterLock interpreter_lock;

namespace {

Shape broadcast_inputs(const OpDef &op, const OpCall &call, const Shape &a, const Shape &b) {
  try {
    return broadcast(a, b);
  } catch (const Error &) {
    reject(op, call, "the inputs do not broadcast: an axis has two sizes and neither is 1");
  }
}

void infer_shapes(const OpDef &op, const OpCall &call, Shape *shapes) {
  if (op.infer) {
    op.infer(call, shapes);
    return;
  }
  const Tensor *first = nullptr;
  bool equal = true;
  for (int i = 0; i < call.input_count; ++i) {
    const Tensor &input = call.inputs[i];
    if (!input.defined()) continue;
    if (!first) first = &input, shapes[0] = input.shape();
    if (equal && same_shape(input, *first)) continue;
    equal = false;
    shapes[0] = broadcast_inputs(op, call, shapes[0], input.shape());
  }
}

void check_out(const OpDef &op, const Tensor &out, const Shape &shape, dg_dtype_t dtype, Device &device) {
  if (&out.device() != &device)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: out is on %s, the inputs on %s", op.name, out.device().name().c_str(),
         device.name().c_str());
  if (out.shape() != shape)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: out has shape %s, the result %s", op.name, out.shape().text().c_str(),
         shape.text().c_str());
  const DtypeKind to = dtype_info(out.dtype()).kind, from = dtype_info(dtype).kind;
  if (out.dtype() != dtype && to != from)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: the result has dtype %s, which cannot be written to out of dtype %s", op.name,
         dtype_name(dtype).c_str(), dtype_name(out.dtype()).c_str());
}

// Whether the kernel may write to `out` itself: right dtype, and no input that is partly the same memory.
bool writable_directly(const Tensor &out, dg_dtype_t dtype, const Tensor *inputs, int count, bool elementwise) {
  if (out.dtype() != dtype) return false;
  for (int i = 0; i < count; ++i) {
    if (!inputs[i].defined()) continue;
    const Overlap found = overlap(out, inputs[i]);
    if (found == Overlap::partial || (found == Overlap::same && !elementwise)) return false;
  }
  return true;
}

// Where the kernel writes, and where that goes afterwards.
struct Targets {
  Outputs direct;  // what the kernel sees
  Outputs final;   // what the caller gets: the same, or an `out` that is copied to
};

Targets make_targets(const OpDef &op, const OpCall &call, const dg_dtype_t *types, const Shape *shapes, Device &device,
                     const Tensor *out) {
  Targets targets;
  for (int i = 0; i < op.output_count; ++i) {
    const OutputDef &def = op.outputs[i];
    if (def.alias >= 0) {
      targets.final[size_t(i)] = targets.direct[size_t(i)] = call.inputs[def.alias];
      continue;
    }
    const dg_dtype_t dtype = output_dtype(def, types);
    if (out && out[i].defined()) {
      check_out(op, out[i], shapes[i], dtype, device);
      targets.final[size_t(i)] = out[i];
      if (writable_directly(out[i], dtype, call.inputs, call.input_count, op.elementwise))
        targets.direct[size_t(i)] = out[i];
    }
    if (!targets.direct[size_t(i)].defined()) {
      targets.direct[size_t(i)] = Tensor::empty(shapes[i], dtype, device);
      if (!targets.final[size_t(i)].defined()) targets.final[size_t(i)] = targets.direct[size_t(i)];
    }
  }
  return targets;
}

// The inputs as the gradient needs them: copies of those that the call is about to write over.
std::vector<Tensor> values_before(const OpDef &op, const OpCall &call, const Tensor *out) {
  const unsigned saved = inputs_to_save(op, call.inputs, call.input_count);
  std::vector<Tensor> values(call.inputs, call.inputs + call.input_count);
  const NoGrad no_grad;
  for (int i = 0; i < call.input_count; ++i)
    for (int k = 0; k < op.output_count; ++k)
      if ((saved >> i & 1) && values[size_t(i)].defined() && out[k].defined() &&
          overlap(call.inputs[i], out[k]) != Overlap::none)
        values[size_t(i)] = ops::copy(call.inputs[i]);
  return values;
}

// In-place writes: allowed at all, and seen by those who saved the tensor.
void prepare_written(const OpDef &op, const OpCall &call, const Tensor *out, bool recorded) {
  for (int i = 0; i < op.output_count; ++i) {
    const int alias = op.outputs[i].alias;
    const Tensor written = alias >= 0 ? call.inputs[alias] : out ? out[i] : Tensor();
    if (written.defined()) check_in_place(written, op.name, recorded);
  }
}

void note_written(const OpDef &op, const Targets &targets, const Tensor *out, bool recorded) {
  for (int i = 0; i < op.output_count; ++i) {
    const bool written = op.outputs[i].alias >= 0 || (out && out[i].defined());
    const Tensor &target = targets.final[size_t(i)];
    if (!written || !target.defined()) continue;
    bump_version(target);
    if (recorded) target->storage->recorded_write = int64_t(target->storage->version.load());
  }
}

// A composite without a gradient of its own: the tape sees what it is made of.
Outputs call_composite(const OpDef &op, const OpCall &call, const dg_dtype_t *types, const Shape *shapes,
                       Device &device, const Tensor *out) {
  Targets targets;
  Outputs results = decompose(op, call, types, device);
  for (int i = 0; i < op.output_count; ++i) {
    Tensor &result = results[size_t(i)];
    if (!out || !out[i].defined()) continue;
    check_out(op, out[i], shapes[i], result.dtype(), device);
    copy_into(out[i], result);
    targets.final[size_t(i)] = out[i];
    note_written(op, targets, out, true);
    record_function(op.name, result, out[i], [](const Tensor &dy) { return dy; });
    result = out[i];
  }
  return results;
}

bool writes_view(const OpDef &op, const Tensor *out) {
  for (int i = 0; i < op.output_count; ++i)
    if (out[i].defined() && out[i]->base) return true;
  return false;
}

// A recorded write into views: the results by themselves, then into the memory of the views and their bases.
Outputs call_into_views(const OpDef &op, const OpCall &call, const dg_dtype_t *types, const Shape *shapes,
                        Device &device, const Tensor *out) {
  std::vector<Arg> arguments(call.inputs, call.inputs + call.input_count);
  for (Arg &argument : arguments)  // what the gradient needs is about to be written over
    for (int k = 0; k < op.output_count; ++k)
      if (argument.tensor.defined() && out[k].defined() && overlap(argument.tensor, out[k]) != Overlap::none)
        argument.tensor = ops::copy(argument.tensor);
  Outputs results = call_op(op, arguments.data(), call.input_count, call.attributes, &device);
  for (int i = 0; i < op.output_count; ++i) {
    Tensor &result = results[size_t(i)];
    if (!out[i].defined()) continue;
    check_out(op, out[i], shapes[i], output_dtype(op.outputs[i], types), device);
    replace_in_place(out[i], result, op.name);
    result = out[i];
  }
  return results;
}

}  // namespace

Outputs call_op(const OpDef &op, Arg *arguments, int count, const void *attributes, Device *chosen, const Tensor *out) {
  HostSpan span(SpanKind::op, [&op] { return op.name; });
  Device &device = common_device(op, arguments, count, chosen);
  dg_dtype_t types[DG_KERNEL_MAX_TYPES];
  resolve_types(op, arguments, count, attributes, types);
  Tensor few[max_inputs];
  std::vector<Tensor> many;
  if (count > max_inputs) many.resize(size_t(count));
  Tensor *inputs = count > max_inputs ? many.data() : few;
  convert_inputs(op, arguments, count, types, device, inputs);
  span.note_inputs(inputs, count);

  Attributes normalized;
  const OpCall call{inputs, count, normalized.normalize(op, attributes, inputs)};
  if (op.require) op.require(call);
  Shape shapes[max_outputs];
  if (!op.has_alias) infer_shapes(op, call, shapes);

  const bool recorded = grad_enabled() && any_requires_grad(inputs, count);
  if (out || op.has_alias) prepare_written(op, call, out, recorded);
  if (recorded && out && writes_view(op, out)) return call_into_views(op, call, types, shapes, device, out);
  if (recorded && op.decompose && !op.gradient && !op.has_alias)
    return call_composite(op, call, types, shapes, device, out);
  const std::vector<Tensor> before = recorded && out ? values_before(op, call, out) : std::vector<Tensor>();
  Targets targets = make_targets(op, call, types, shapes, device, out);
  climb(op, call, types, targets.direct.data(), device);
  for (int i = 0; i < op.output_count; ++i) {
    Tensor &final = targets.final[size_t(i)], &direct = targets.direct[size_t(i)];
    if (final == direct) continue;
    if (out && out[i].defined())
      copy_into(final, direct);
    else
      final = direct;
  }
  if (out || op.has_alias) note_written(op, targets, out, recorded);
  if (recorded && is_differentiable(targets.final[0].dtype()))
    record_op(op, inputs, before.empty() ? inputs : before.data(), count, call.attributes, targets.final.data());
  return std::move(targets.final);
}

Tensor contiguous(const Tensor &tensor) { return tensor.is_contiguous() ? tensor : ops::copy(tensor); }

namespace {

struct CachedScalar {
  Device *device = nullptr;
  dg_dtype_t dtype = DG_DTYPE_NONE;
  unsigned char bytes[16];
  Tensor tensor;
};

// A few numbers come again and again: 2, 0.5, -1. Per thread, so that no lock is needed.
CachedScalar &cached_scalar(Device &device, dg_dtype_t dtype, const void *bytes, size_t size) {
  constexpr size_t slots = 64;
  thread_local CachedScalar cache[slots];
  uint64_t hash = dtype ^ uint64_t(reinterpret_cast<uintptr_t>(&device) >> 6);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char *>(bytes)[i]) * 0x100000001b3ULL;
  return cache[(hash >> 24) % slots];
}

}  // namespace

Tensor scalar_tensor(const Scalar &value, dg_dtype_t dtype, Device &device) {
  unsigned char bytes[16] = {};
  const size_t size = encode_scalar(value, dtype, bytes);
  const Unrecorded unrecorded;
  if (!device.synchronous()) {
    Tensor tensor = Tensor::empty({}, dtype, device);
    tensor->storage->constant = true;
    const Unlocked unlocked;
    device.fill(tensor->storage->handle, tensor.descriptor().byte_offset, bytes, size, 1, device.current_stream());
    return tensor;
  }
  CachedScalar &slot = cached_scalar(device, dtype, bytes, size);
  if (slot.device == &device && slot.dtype == dtype && std::memcmp(slot.bytes, bytes, size) == 0) return slot.tensor;
  Tensor tensor = Tensor::empty({}, dtype, device);
  tensor->storage->constant = true;
  device.copy_from_host(tensor->storage->handle, tensor.descriptor().byte_offset, bytes, size, device.current_stream());
  slot.device = &device, slot.dtype = dtype, slot.tensor = tensor;
  std::memcpy(slot.bytes, bytes, sizeof bytes);
  return tensor;
}

Tensor to_device(const Tensor &tensor, Device &device) {
  Device &from = tensor.device();
  if (&from == &device) return tensor;
  const Tensor source = contiguous(tensor.detach());
  Tensor result = Tensor::empty(tensor.shape(), tensor.dtype(), device);
  if (Rehearsal *now = rehearsal(); now && result.nbytes() > 0) {
    now->transfer(source->storage, source.descriptor().byte_offset);
  } else if (result.nbytes() > 0) {
    const Unlocked unlocked;
    Device::copy_between(device, result->storage->handle, result.descriptor().byte_offset, from,
                         source->storage->handle, source.descriptor().byte_offset, result.nbytes());
    if (Recorder *now = recorder())
      now->add_transfer(result->storage, result.descriptor().byte_offset, source->storage,
                        source.descriptor().byte_offset, result.nbytes());
  }
  record_function("to_device", tensor, result, [&from](const Tensor &dy) { return to_device(dy, from); });
  return result;
}

namespace {

// Memory that another stream allocated is not reused before this thread's stream is done with it.
void keep_for_current_stream(const Tensor &tensor) {
  Block *block = tensor->storage->block;
  Stream &stream = tensor.device().current_stream();
  if (block && block->stream != &stream) tensor.device().allocator().record_stream(block, stream);
}

// From device to device as the bytes lie, without a tensor between. False where that does not do.
bool copy_bytes(const Tensor &destination, const Tensor &source) {
  const bool alike = destination.dtype() == source.dtype() && destination.shape() == source.shape() &&
                     destination.is_contiguous() && source.is_contiguous();
  if (!alike || &destination.device() == &source.device() || observed()) return false;
  check_in_place(destination, "copy", false);
  keep_for_current_stream(destination);
  keep_for_current_stream(source);
  const Unlocked unlocked;
  Device::copy_between(destination.device(), destination->storage->handle, destination.descriptor().byte_offset,
                       source.device(), source->storage->handle, source.descriptor().byte_offset, source.nbytes());
  bump_version(destination);
  return true;
}

}  // namespace

void copy_into(const Tensor &destination, const Tensor &source) {
  const NoGrad no_grad;
  if (copy_bytes(destination, source)) return;
  Tensor from = to_device(source, destination.device());
  if (from.dtype() != destination.dtype()) from = ops::cast(from, destination.dtype());
  if (!broadcasts_to(from.shape(), destination.shape()))
    fail(DG_STATUS_INVALID_ARGUMENT, "copy: a tensor of shape %s does not broadcast to %s", from.shape().text().c_str(),
         destination.shape().text().c_str());
  Arg arguments[] = {expand(from, destination.shape())};
  call_op(op_def(OpId::copy), arguments, 1, nullptr, nullptr, &destination);
}

}  // namespace dougong
