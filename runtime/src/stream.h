// Streams and events of a device. On a synchronous device they are empty shells: every call has finished its work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <functional>

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
  // Runs the function on a thread of the plugin once the stream comes there, or at once on a synchronous device.
  void add_callback(std::function<void(dg_status_t)> function);

 private:
  Device &device_;
  dg_stream_t *handle_ = nullptr;
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
  Device &device_;
  dg_event_t *handle_ = nullptr;
};

}  // namespace dougong
