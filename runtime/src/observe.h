// What watches the calls of a thread: a recorder that keeps them for replay, or a rehearsal that compares them with
// what was recorded. Without either, a hook costs one load.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <utility>

#include "ref.h"

namespace dougong {

class Recorder;
class Rehearsal;
class Storage;

struct Observation {
  Recorder *recorder = nullptr;
  Rehearsal *rehearsal = nullptr;
  bool reads_refused = false;  // the host may not look at values: the thread tries out what is to be recorded
};

extern std::atomic<int> observed_threads;
Observation &observation();  // of this thread

inline bool observed() { return __builtin_expect(observed_threads.load(std::memory_order_relaxed) != 0, 0); }
inline Recorder *recorder() { return observed() ? observation().recorder : nullptr; }
inline Rehearsal *rehearsal() { return observed() ? observation().rehearsal : nullptr; }
inline bool reads_refused() { return observed() && observation().reads_refused; }

// Nothing is recorded while it lives: what is made meanwhile is as if it had been there before.
class Unrecorded {
 public:
  Unrecorded() : before_(recorder()) {
    if (before_) observation().recorder = nullptr;
  }
  ~Unrecorded() {
    if (before_) observation().recorder = before_;
  }
  Unrecorded(const Unrecorded &) = delete;

 private:
  Recorder *before_;
};

// Of memory that was made while recording: the recorder sees whether it is still there at the end, without keeping it.
class Birth : public RefCounted {
 public:
  Birth(uint64_t recorder, int memory, Storage *storage) : recorder(recorder), memory(memory), storage_(storage) {}
  const uint64_t recorder;  // its number
  const int memory;         // the number within the recording
  void note_death();
  Ref<Storage> storage() const;  // null if it is gone

 private:
  Storage *storage_;
};

void note_birth(Storage &storage);  // called while a recorder is there

}  // namespace dougong
