// Streams and events of a device. On a synchronous device they are empty shells: every call has finished its work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

#include "dispatch.h"
#include "ref.h"

namespace dougong {

class Device;
class Event;

class Stream : public RefCounted {
 public:
  Stream(Device &device, int32_t priority);
  ~Stream() override;

  Device &device() const { return device_; }
  dg_stream_t *handle() const { return handle_; }  // null on a synchronous device

  bool query();  // true when all work queued so far is done; throws its failure
  void synchronize();
  void wait(Event &event);
  // Runs the function on a thread of the plugin once the stream comes there, or at once on a synchronous device. It may
  // not use a device.
  void add_callback(std::function<void(dg_status_t)> function);

 private:
  friend class Submission;
  friend class Allocator;
  Device &device_;
  dg_stream_t *handle_ = nullptr;
  std::mutex own_mutex_;
  std::mutex *mutex_ = nullptr;        // held during calls that concern the stream; null where none is needed
  std::atomic<void *> pool_{nullptr};  // the allocator's memory of this stream
};

// This thread is running a stream's callback: it may not call the plugin.
bool inside_callback();

// Held while calling a slot that is tagged [one thread per stream]: the stream is taken, of a synchronous device all of
// it, unless it bears concurrent calls. Who waits for it does not hold the interpreter's lock, and nobody holds that
// while an asynchronous device works.
class Submission {
 public:
  explicit Submission(Stream &stream) : unlocked_(stream.handle() != nullptr) {
    if (stream.mutex_) take(*stream.mutex_);
  }

 private:
  void take(std::mutex &mutex) {
    guard_ = std::unique_lock<std::mutex>(mutex, std::try_to_lock);
    if (guard_.owns_lock()) return;
    const Unlocked unlocked;
    guard_.lock();
  }

  Unlocked unlocked_;
  std::unique_lock<std::mutex> guard_;
};

class Event : public RefCounted {
 public:
  Event(Device &device, bool timing);
  ~Event() override;

  Device &device() const { return device_; }
  dg_event_t *handle() const { return handle_; }

  void record(Stream &stream);
  bool query();  // true also when nothing was ever recorded
  void synchronize();
  double elapsed_to(Event &end);  // milliseconds

 private:
  friend class Stream;
  Device &device_;
  const bool timing_;
  dg_event_t *handle_ = nullptr;
  Ref<Stream> stream_;                            // that recorded it last, where the plugin has no events
  std::chrono::steady_clock::time_point time_{};  // of the record, on a synchronous device
};

}  // namespace dougong
