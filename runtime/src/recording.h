// Calls recorded once and replayed: kernels with all that they were called with, in the memory that was planned for
// them. See docs/jit.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel_index.h"
#include "observe.h"
#include "recording_steps.h"
#include "tensor.h"

namespace dougong {

struct RecordingStats {
  size_t calls = 0, kernels = 0;
  size_t fixed_calls = 0;       // of them, those that compute the same each time: they are run once
  uint64_t fixed_bytes = 0;     // what these keep
  uint64_t planned_bytes = 0;   // the arenas in which intermediates live
  uint64_t separate_bytes = 0;  // what the intermediates would take without sharing
  uint64_t kept_bytes = 0;      // made by the recorded calls and still there after them: results and gradients
};

// What the calls did to the grad of a leaf.
struct RecordedGrad {
  Ref<TensorImpl> leaf;
  bool needed = false;  // the calls depended on the grad that was there before
  Ref<Storage> before;  // its memory; null for none
  Tensor after;
};

// Not for two threads at a time.
class Recording {
 public:
  Recording() = default;
  ~Recording();
  Recording(const Recording &) = delete;

  // Runs all calls, in order, on the current streams, and sets the grads as the recorded calls left them. Throws what a
  // kernel reports.
  void run();
  // Why no replay will ever do again what the calls would do: null if one may.
  const char *stale() const;
  // The grads that the calls depend on are those that were there when they were recorded.
  bool fits() const;

  size_t size() const { return steps_.size(); }
  Step &step(size_t i) { return *steps_[i]; }
  const RecordedMemory &memory(int i) const { return memories_[size_t(i)]; }
  const RecordingStats &stats() const { return stats_; }

 private:
  friend class Recorder;
  int own_references(const Storage &storage) const;
  bool is_dead(const RecordedMemory &memory) const;

  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Step *> running_;  // those of each replay
  std::vector<RecordedMemory> memories_;
  std::vector<RecordedGrad> grads_;
  std::vector<Ref<Storage>> arenas_;
  std::vector<Device *> devices_;
  uint64_t changes_ = 0;  // of recorded tensors, until it was made
  RecordingStats stats_;
};

// Records the calls of the thread that makes it, until it is finished or destroyed.
class Recorder {
 public:
  Recorder();
  ~Recorder();

  // ---- Hooks
  void add_birth(Storage &storage);
  // After the launch. `inputs` and `outputs` are the tensors behind the call's descriptors.
  void add_kernel(const OpDef &op, const KernelEntry &entry, Device &device, const dg_kernel_call_t &call,
                  const Tensor *inputs, const Tensor *outputs);
  // Offsets are from the storages' handles.
  void add_transfer(const Ref<Storage> &to, uint64_t to_offset, const Ref<Storage> &from, uint64_t from_offset,
                    uint64_t size);
  void add_upload(const Ref<Storage> &to, uint64_t to_offset, const void *bytes, uint64_t size);
  // Before the grad of a leaf is read or replaced.
  void note_grad(TensorImpl &leaf, bool replaced);

  size_t size() const { return recording_->steps_.size(); }
  bool made(const Storage &storage) const { return storage.birth && storage.birth->recorder == number_; }
  // Whether a rehearsal may change the calls from here on; returns what held before.
  bool set_varying(bool varying) { return std::exchange(varying_, varying); }
  // A backward pass was recorded.
  void note_backward() { has_gradients_ = true; }
  bool has_gradients() const { return has_gradients_; }
  // Ends it: plans the memory. Throws if the calls cannot be replayed.
  std::unique_ptr<Recording> finish();

 private:
  int use(const Ref<Storage> &storage, bool written);
  Argument argument(const dg_tensor_t *descriptor, const Tensor &tensor, bool written);
  void add(std::unique_ptr<Step> step);
  int add_workspace(Device &device, uint64_t size);
  void stop();
  void drop_own_leaves();
  void keep_survivors();
  void check_survivors() const;
  void find_fixed();
  bool is_fixed(Step &step) const;
  void find_devices();
  void plan_memory(Device &device);
  void place_steps();
  void run_fixed();

  const uint64_t number_;
  bool varying_ = false, has_gradients_ = false;
  std::unique_ptr<Recording> recording_;
  std::vector<Ref<Birth>> births_;               // by memory; null for what was there before
  std::unordered_map<Storage *, int> existing_;  // memory that was there before
};

// Before a tensor gets other memory, or starts or ceases to need a gradient: what was recorded with it holds no longer.
void note_change(const Tensor &tensor);
uint64_t recorded_changes();

// While it lives, the thread's calls are not run: each is compared with a recorded one, from number `begin` on, whose
// attributes and numbers it replaces. Throws where the calls differ in more than those.
class Rehearsal {
 public:
  Rehearsal(Recording &recording, size_t begin, size_t end);
  ~Rehearsal();
  // In place of a launch.
  dg_status_t launch(const OpDef &op, const KernelEntry &entry, const dg_kernel_call_t &call, const Tensor *inputs);
  // In place of a copy between devices, and of one from the host.
  void transfer(const Ref<Storage> &from, uint64_t from_offset);
  void upload(const void *bytes, uint64_t size);
  // Throws if recorded calls are left.
  void finish();

 private:
  template <class Kind>
  Kind &next(const char *called);
  Recording &recording_;
  size_t next_, end_;
};

}  // namespace dougong
