// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include "autograd.h"
#include "profiler.h"
#include "stream.h"

namespace dougong {

static std::atomic<uint64_t> changes{0};

uint64_t recorded_changes() { return changes.load(); }

void note_change(const Tensor &tensor) {
  if (tensor->storage->recorded) ++changes;
}

// The plans of the steps are given back before the memory is.
Recording::~Recording() { steps_.clear(); }

void Recording::run() {
  const HostSpan span(SpanKind::label, [] { return std::string("jit replay"); });
  for (Device *device : devices_) device->check_usable();
  {
    const Unlocked unlocked;
    for (Step *step : running_) step->run();
  }
  for (const RecordedMemory &memory : memories_)
    if (memory.writers > 0 && memory.storage) memory.storage->version.fetch_add(1, std::memory_order_relaxed);
  for (const RecordedGrad &grad : grads_) {
    const Ref<TensorImpl> leaf = grad.leaf;
    leaf->autograd->grad = grad.after;
  }
}

// References to the memory that exist only because the recording does.
int Recording::own_references(const Storage &storage) const {
  int count = 1;
  for (const RecordedGrad &grad : grads_) {
    count += grad.before.get() == &storage;
    count += grad.leaf->storage.get() == &storage && grad.leaf->use_count() == 1;
    count += grad.after.defined() && grad.after->storage.get() == &storage && grad.after->use_count() == 1;
  }
  return count;
}

bool Recording::is_dead(const RecordedMemory &memory) const {
  if (!memory.existed || memory.constant) return false;
  // More references than this cannot all be the recording's, and are not counted then.
  const int64_t references = memory.storage->use_count();
  return references == 1 || (references <= 4 && references <= own_references(*memory.storage));
}

const char *Recording::stale() const {
  if (changes_ != recorded_changes()) return "a tensor was given other memory, or needs a gradient where it did not";
  for (const RecordedGrad &grad : grads_) {
    if (grad.leaf->use_count() == 1) return "a parameter is gone";
    if (!grad.leaf->autograd) return "a parameter has lost its history";
  }
  for (const RecordedMemory &memory : memories_)
    if (is_dead(memory)) return "a tensor that the calls read is gone";
  return nullptr;
}

bool Recording::fits() const {
  for (const RecordedGrad &grad : grads_) {
    const Tensor &now = grad.leaf->autograd->grad;
    if (grad.needed && grad.before.get() != (now.defined() ? now->storage.get() : nullptr)) return false;
  }
  return true;
}

}  // namespace dougong
