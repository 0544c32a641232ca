// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "autograd.h"
#include "recording.h"
#include "stream.h"

namespace dougong {

std::atomic<int> observed_threads{0};

Observation &observation() {
  thread_local Observation mine;
  return mine;
}

namespace {

std::mutex births_mutex;
std::atomic<uint64_t> next_recorder{1};

}  // namespace

void Birth::note_death() {
  std::lock_guard<std::mutex> guard(births_mutex);
  storage_ = nullptr;
}

Ref<Storage> Birth::storage() const {
  std::lock_guard<std::mutex> guard(births_mutex);
  if (!storage_ || !storage_->try_retain()) return {};
  Ref<Storage> found(storage_);
  storage_->release();
  return found;
}

void note_birth(Storage &storage) { recorder()->add_birth(storage); }

Recorder::Recorder() : number_(next_recorder.fetch_add(1)), recording_(new Recording) {
  if (observation().recorder) fail(DG_STATUS_INVALID_ARGUMENT, "this thread is recording already");
  observation().recorder = this;
  ++observed_threads;
}

Recorder::~Recorder() { stop(); }

void Recorder::stop() {
  if (observation().recorder != this) return;
  observation().recorder = nullptr;
  --observed_threads;
}

void Recorder::add_birth(Storage &storage) {
  const int number = int(recording_->memories_.size());
  RecordedMemory memory;
  memory.device = &storage.device, memory.size = storage.size;
  recording_->memories_.push_back(memory);
  births_.push_back(make_ref<Birth>(number_, number, &storage));
  storage.birth = births_.back();
}

// The number of the memory, which the next step uses.
int Recorder::use(const Ref<Storage> &storage, bool written) {
  Memories &memories = recording_->memories_;
  int number;
  if (made(*storage)) {
    number = storage->birth->memory;
  } else {
    number = existing_.try_emplace(storage.get(), int(memories.size())).first->second;
    if (number == int(memories.size())) {
      RecordedMemory memory;
      memory.device = &storage->device, memory.size = storage->size, memory.storage = storage;
      memory.existed = true, memory.constant = storage->constant;
      storage->recorded = true;
      memories.push_back(memory);
      births_.emplace_back();
    }
  }
  RecordedMemory &memory = memories[size_t(number)];
  if (memory.first < 0) memory.first = int(size());
  memory.last = int(size());
  memory.writers += written;
  return number;
}

Argument Recorder::argument(const dg_tensor_t *descriptor, const Tensor &tensor, bool written) {
  Argument argument;
  if (!descriptor) return argument;
  argument.descriptor = *descriptor;
  argument.memory = use(tensor->storage, written);
  argument.relative = descriptor->byte_offset - tensor->storage->offset;
  return argument;
}

void Recorder::add(std::unique_ptr<Step> step) {
  step->varies = varying_;
  recording_->steps_.push_back(std::move(step));
}

int Recorder::add_workspace(Device &device, uint64_t size) {
  RecordedMemory memory;
  memory.device = &device, memory.size = size;
  memory.first = memory.last = int(this->size());
  memory.writers = 1;
  recording_->memories_.push_back(memory);
  births_.emplace_back();
  return int(recording_->memories_.size()) - 1;
}

void Recorder::add_kernel(const OpDef &op, const KernelEntry &entry, Device &device, const dg_kernel_call_t &call,
                          const Tensor *inputs, const Tensor *outputs) {
  std::vector<Argument> arguments;
  for (int i = 0; i < call.input_count; ++i) arguments.push_back(argument(call.inputs[i], inputs[i], false));
  for (int i = 0; i < call.output_count; ++i) arguments.push_back(argument(call.outputs[i], outputs[i], true));
  auto step = std::make_unique<KernelStep>(op, entry, device, call, std::move(arguments));
  if (step->workspace_size > 0) step->workspace = add_workspace(device, step->workspace_size);
  add(std::move(step));
  ++recording_->stats_.kernels;
}

void Recorder::add_transfer(const Ref<Storage> &to, uint64_t to_offset, const Ref<Storage> &from, uint64_t from_offset,
                            uint64_t size) {
  const RecordedPlace source{use(from, false), from_offset - from->offset};
  const RecordedPlace target{use(to, true), to_offset - to->offset};
  add(std::make_unique<TransferStep>(target, source, size));
}

void Recorder::add_upload(const Ref<Storage> &to, uint64_t to_offset, const void *bytes, uint64_t size) {
  const RecordedPlace target{use(to, true), to_offset - to->offset};
  add(std::make_unique<UploadStep>(target, bytes, size));
}

void Recorder::note_grad(TensorImpl &leaf, bool replaced) {
  for (const RecordedGrad &known : recording_->grads_)
    if (known.leaf.get() == &leaf) return;
  RecordedGrad grad;
  grad.leaf = Ref<TensorImpl>(&leaf);
  grad.needed = !replaced;
  const Tensor before = leaf.autograd ? leaf.autograd->grad : Tensor();
  if (grad.needed && before.defined()) grad.before = before->storage;
  recording_->grads_.push_back(grad);
}

// Leaves that lived only while recording have no grad to set.
void Recorder::drop_own_leaves() {
  auto &grads = recording_->grads_;
  const auto gone = [](const RecordedGrad &grad) { return grad.leaf->use_count() == 1 || !grad.leaf->autograd; };
  grads.erase(std::remove_if(grads.begin(), grads.end(), gone), grads.end());
  for (RecordedGrad &grad : grads) grad.after = grad.leaf->autograd->grad;
}

// What was made and is still there keeps its memory: a result, a gradient, something that Python holds.
void Recorder::keep_survivors() {
  Memories &memories = recording_->memories_;
  for (size_t i = 0; i < memories.size(); ++i) {
    if (births_[i]) memories[i].storage = births_[i]->storage();
    if (births_[i] && memories[i].storage && memories[i].first >= 0) recording_->stats_.kept_bytes += memories[i].size;
  }
}

void Recorder::check_survivors() const {
  for (const RecordedMemory &memory : recording_->memories_)
    if (recording_->is_dead(memory))
      fail(DG_STATUS_UNSUPPORTED,
           "jit: a tensor of %llu bytes that was there before the call, and that the call reads, is gone after it: it "
           "was replaced by another tensor, and a replay would read the old one. Write the new value into the same "
           "memory (x.copy_(new)), or return it and pass it in as an argument",
           (unsigned long long)memory.size);
}

// A call whose results nobody else writes to, and that reads nothing that could change.
bool Recorder::is_fixed(Step &step) const {
  constexpr uint64_t size_limit = 1 << 20;  // memory that is not shared with others
  bool fixed = step.deterministic();
  step.visit([&](int number, bool written) {
    const RecordedMemory &memory = recording_->memories_[size_t(number)];
    if (written)
      fixed &= !memory.existed && !memory.storage && memory.writers == 1 && memory.size <= size_limit;
    else
      fixed &= memory.constant || memory.fixed;
  });
  return fixed;
}

// Masks, positions and other constants are computed once.
void Recorder::find_fixed() {
  for (const auto &step : recording_->steps_) {
    if (!is_fixed(*step)) {
      recording_->running_.push_back(step.get());
      continue;
    }
    step->visit([&](int number, bool written) {
      RecordedMemory &memory = recording_->memories_[size_t(number)];
      if (!written) return;
      memory.fixed = true;
      memory.storage = make_ref<Storage>(*memory.device, memory.size);
    });
  }
}

void Recorder::run_fixed() {
  std::vector<bool> used(recording_->memories_.size());
  for (const Step *step : recording_->running_) step->visit([&](int number, bool) { used[size_t(number)] = true; });
  size_t next = 0;
  for (const auto &step : recording_->steps_) {
    if (next < recording_->running_.size() && recording_->running_[next] == step.get())
      ++next;
    else
      step->run();
  }
  for (size_t i = 0; i < used.size(); ++i) {
    RecordedMemory &memory = recording_->memories_[i];
    if (memory.fixed && !used[i]) memory.storage = nullptr;
    if (memory.fixed && used[i]) recording_->stats_.fixed_bytes += memory.size;
  }
}

void Recorder::find_devices() {
  auto &devices = recording_->devices_;
  for (const RecordedMemory &memory : recording_->memories_)
    if (memory.first >= 0 && std::find(devices.begin(), devices.end(), memory.device) == devices.end())
      devices.push_back(memory.device);
}

void Recorder::plan_memory(Device &device) {
  std::vector<Interval> intervals;
  std::vector<RecordedMemory *> planned;
  const uint64_t granule = std::max<uint64_t>(64, device.properties().alignment);
  for (RecordedMemory &memory : recording_->memories_) {
    if (memory.device != &device || memory.first < 0 || memory.storage || memory.size == 0) continue;
    intervals.push_back({(memory.size + granule - 1) / granule * granule, memory.first, memory.last, 0});
    planned.push_back(&memory);
    recording_->stats_.separate_bytes += intervals.back().size;
  }
  const auto arena = make_ref<Storage>(device, plan_arena(intervals));
  recording_->stats_.planned_bytes += arena->size;
  recording_->arenas_.push_back(arena);
  for (size_t i = 0; i < planned.size(); ++i)
    planned[i]->handle = arena->handle, planned[i]->offset = arena->offset + intervals[i].offset;
}

void Recorder::place_steps() {
  for (Device *device : recording_->devices_) plan_memory(*device);
  for (RecordedMemory &memory : recording_->memories_)
    if (memory.storage) memory.handle = memory.storage->handle, memory.offset = memory.storage->offset;
  for (const auto &step : recording_->steps_) step->place(recording_->memories_);
}

std::unique_ptr<Recording> Recorder::finish() {
  stop();
  drop_own_leaves();
  keep_survivors();
  check_survivors();
  find_fixed();
  find_devices();
  place_steps();
  run_fixed();
  recording_->stats_.calls = recording_->steps_.size();
  recording_->stats_.fixed_calls = recording_->steps_.size() - recording_->running_.size();
  recording_->changes_ = recorded_changes();
  return std::move(recording_);
}

// ---- Rehearsal -------------------------------------------------------------------------------------------------

Rehearsal::Rehearsal(Recording &recording, size_t begin, size_t end) : recording_(recording), next_(begin), end_(end) {
  observation().rehearsal = this;
  ++observed_threads;
}

Rehearsal::~Rehearsal() {
  observation().rehearsal = nullptr;
  --observed_threads;
}

template <class Kind>
Kind &Rehearsal::next(const char *called) {
  auto *step = next_ < end_ ? dynamic_cast<Kind *>(&recording_.step(next_)) : nullptr;
  if (!step)
    fail(DG_STATUS_UNSUPPORTED, "jit: %s is called where %s was recorded", called,
         next_ < end_ ? recording_.step(next_).name() : "nothing");
  return *step;
}

void Rehearsal::transfer(const Ref<Storage> &from, uint64_t from_offset) {
  auto &step = next<TransferStep>("a transfer");
  if (from->constant) step.set_source(from, from_offset);
  ++next_;
}

void Rehearsal::upload(const void *bytes, uint64_t size) {
  next<UploadStep>("an upload").set_bytes(bytes, size);
  ++next_;
}

dg_status_t Rehearsal::launch(const OpDef &op, const KernelEntry &entry, const dg_kernel_call_t &call,
                              const Tensor *inputs) {
  auto *step = &next<KernelStep>(op.name);
  if (&step->op != &op || !step->has_shapes_of(call))
    fail(DG_STATUS_UNSUPPORTED, "jit: %s is called where %s was recorded", op.name, step->op.name);
  if (&step->entry != &entry) return DG_STATUS_UNSUPPORTED;  // as it was found when it was recorded
  const uint64_t workspace = step->workspace_size;
  step->set_attributes(call.attributes);
  if (step->workspace_size > workspace)
    fail(DG_STATUS_UNSUPPORTED, "jit: %s needs a larger workspace than when it was recorded", op.name);
  for (int i = 0; i < call.input_count; ++i) {
    const int number = step->arguments[size_t(i)].memory;
    if (number < 0) continue;
    const RecordedMemory &memory = recording_.memory(number);
    if (memory.constant && inputs[i]->storage->constant)
      step->set_constant(i, inputs[i]);
    else if (memory.existed && inputs[i]->storage->size > 0 && inputs[i]->storage != memory.storage)
      fail(DG_STATUS_UNSUPPORTED, "jit: %s has another input than when it was recorded", op.name);
  }
  ++next_;
  return DG_STATUS_OK;
}

void Rehearsal::finish() {
  if (next_ < end_)
    fail(DG_STATUS_UNSUPPORTED, "jit: %s was recorded, and is not called any more", recording_.step(next_).name());
}

}  // namespace dougong
