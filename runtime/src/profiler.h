// Where time goes: spans of the host, one an op call, a step of the backward pass, or a label; and spans of a device,
// one a kernel or copy. Off, a span costs one load.
//
// The times of an asynchronous device are those of events on the stream, brought onto the host's clock by one event
// that was waited for; a synchronous device works on the host's time. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "stream.h"
#include "tensor.h"

namespace dougong {

enum class SpanKind { op, backward, label, kernel, copy };
const char *span_kind_name(SpanKind kind);

struct TimedSpan {
  std::string name;
  SpanKind kind = SpanKind::op;
  int64_t thread = 0;          // of the host, as the system numbers it
  int64_t begin = 0, end = 0;  // nanoseconds since the profiler was started
  std::string shapes;          // of the inputs, if wanted
  std::string device;          // of a device's span, with the number of its stream
  int stream = 0;
};

struct Profile {
  std::vector<TimedSpan> host, device;
  bool untimed = false;  // a device has no event_elapsed: its spans are missing
};

extern std::atomic<bool> profiler_running;
inline bool profiling() { return __builtin_expect(profiler_running.load(std::memory_order_relaxed), 0); }

// One profile at a time.
void start_profiler(bool shapes, bool devices);
// Waits for the devices that have spans. Throws their failure; the profiler is off then, too.
Profile stop_profiler();

// A span of the host while it lives. The name is made only if it is wanted.
class HostSpan {
 public:
  template <class Name>
  HostSpan(SpanKind kind, const Name &name) {
    if (profiling()) begin(kind, name());
  }
  ~HostSpan() {
    if (place_ >= 0) end();
  }
  HostSpan(const HostSpan &) = delete;
  void note_inputs(const Tensor *inputs, int count) {
    if (place_ >= 0) note(inputs, count);
  }

 private:
  void begin(SpanKind kind, std::string name);
  void note(const Tensor *inputs, int count);
  void end();

  int64_t place_ = -1;
  uint64_t session_ = 0;
};

// A span of a device: the work that is queued on the stream while it lives. Not within a Submission.
class DeviceSpan {
 public:
  DeviceSpan(SpanKind kind, const char *name, Stream &stream) {
    if (profiling()) begin(kind, name, stream);
  }
  ~DeviceSpan() {
    if (stream_) end();
  }
  DeviceSpan(const DeviceSpan &) = delete;

 private:
  void begin(SpanKind kind, const char *name, Stream &stream);
  void end();

  SpanKind kind_ = SpanKind::kernel;
  const char *name_ = nullptr;
  Stream *stream_ = nullptr;
  Ref<Event> start_;
  int64_t begin_ = 0;
  uint64_t session_ = 0;
};

}  // namespace dougong
