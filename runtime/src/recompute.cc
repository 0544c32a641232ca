// SPDX-License-Identifier: Apache-2.0
#include "recompute.h"

#include "autograd.h"

namespace dougong {

namespace {

thread_local Recomputation *current_call = nullptr;
thread_local bool making_again = false;

}  // namespace

Recomputation::Scope::Scope(Recomputation &call, bool again) : before_(current_call), before_again_(making_again) {
  current_call = &call, making_again = again;
}

Recomputation::Scope::~Scope() { current_call = before_, making_again = before_again_; }

Recomputation *Recomputation::current() { return current_call; }

std::shared_ptr<RecomputeSlot> Recomputation::take(const Tensor &tensor) {
  if (making_again) {
    fill(tensor);
    return nullptr;
  }
  auto slot = std::make_shared<RecomputeSlot>();
  slot->call = shared_from_this(), slot->shape = tensor.shape(), slot->dtype = tensor.dtype();
  slots_.push_back(slot);
  return slot;
}

void Recomputation::fill(const Tensor &tensor) {
  const size_t place = next_++;
  if (place >= slots_.size()) return;  // said at the end
  const auto slot = slots_[place].lock();
  if (!slot) return;
  if (slot->shape != tensor.shape() || slot->dtype != tensor.dtype())
    fail(DG_STATUS_INVALID_ARGUMENT,
         "checkpoint: the function did not do the same again: value %zu was %s %s, now %s %s; what it does may depend "
         "on its arguments, parameters and random numbers only",
         place, dtype_name(slot->dtype).c_str(), slot->shape.text().c_str(), dtype_name(tensor.dtype()).c_str(),
         tensor.shape().text().c_str());
  slot->value = tensor.detach();
  slot->version = tensor->storage->version.load();
}

void Recomputation::run_again() {
  if (running_) fail(DG_STATUS_INTERNAL, "checkpoint: a value is needed by the run that makes it");
  running_ = true, next_ = 0;
  try {
    const Scope scope(*this, true);
    again_();
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
  if (next_ != slots_.size())
    fail(DG_STATUS_INVALID_ARGUMENT,
         "checkpoint: the function did not do the same again: it saved %zu values, now %zu; what it does may depend on "
         "its arguments, parameters and random numbers only",
         slots_.size(), next_);
}

const Tensor &Recomputation::value(RecomputeSlot &slot) {
  if (!slot.value.defined()) run_again();
  if (!slot.value.defined()) fail(DG_STATUS_INTERNAL, "checkpoint: a value was not made again");
  return slot.value;
}

}  // namespace dougong
