// SPDX-License-Identifier: Apache-2.0
#include "profiler.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "device.h"
#include "stream.h"

namespace dougong {

std::atomic<bool> profiler_running{false};

namespace {

// A moment that is known on both clocks.
struct Base {
  Ref<Event> event;
  int64_t time = 0;
};

struct Pending {
  TimedSpan span;
  Device *device;
  Ref<Event> start, stop;
};

struct Session {
  bool shapes = false, devices = true;
  std::chrono::steady_clock::time_point origin;
  std::vector<TimedSpan> host, device;
  std::vector<Pending> pending;
  std::map<Device *, Base> bases;
  std::map<Device *, std::vector<Stream *>> streams;
  bool untimed = false;
};

// No plugin is called, and the interpreter's lock is not waited for, while the mutex is held.
std::mutex session_mutex;
Session session;
std::atomic<uint64_t> session_number{0};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - session.origin)
      .count();
}

int64_t thread_number() {
  thread_local const auto number = int64_t(syscall(SYS_gettid));
  return number;
}

std::string shapes_of(const Tensor *inputs, int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) {
    if (i) text += ", ";
    text += inputs[i].defined() ? inputs[i].shape().text() : "None";
  }
  return text + "]";
}

bool has_base(Device &device) {
  std::lock_guard<std::mutex> guard(session_mutex);
  return session.bases.count(&device);
}

void make_base(Device &device, Stream &stream) {
  Base base{make_ref<Event>(device, true), 0};
  base.event->record(stream);
  base.event->synchronize();
  base.time = now();
  std::lock_guard<std::mutex> guard(session_mutex);
  session.bases.emplace(&device, base);
}

// With the mutex held.
int stream_place(Stream &stream) {
  auto &known = session.streams[&stream.device()];
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] == &stream) return int(i);
  known.push_back(&stream);
  return int(known.size()) - 1;
}

}  // namespace

const char *span_kind_name(SpanKind kind) {
  static const char *const names[] = {"op", "backward", "label", "kernel", "copy"};
  return names[int(kind)];
}

// A child of a fork does not go on with the parent's profile.
static void watch_forks() {
  static const int watched = pthread_atfork([] { session_mutex.lock(); }, [] { session_mutex.unlock(); },
                                            [] { profiler_running.store(false), session_mutex.unlock(); });
  (void)watched;
}

void start_profiler(bool shapes, bool devices) {
  watch_forks();
  std::lock_guard<std::mutex> guard(session_mutex);
  if (profiler_running.load())
    fail(DG_STATUS_INVALID_ARGUMENT, "a profile is being taken already: there is one at a time; end that one first");
  session = Session();
  session.shapes = shapes, session.devices = devices;
  session.origin = std::chrono::steady_clock::now();
  ++session_number;
  profiler_running.store(true);
}

Profile stop_profiler() {
  Session done;
  const int64_t end = now();
  {
    std::lock_guard<std::mutex> guard(session_mutex);
    if (!profiler_running.load()) fail(DG_STATUS_INVALID_ARGUMENT, "no profile is being taken");
    profiler_running.store(false);
    ++session_number;
    done = std::move(session);
    session = Session();
  }
  for (auto &[device, base] : done.bases) device->synchronize();
  for (Pending &pending : done.pending) {
    Base &base = done.bases.at(pending.device);
    pending.span.begin = base.time + int64_t(base.event->elapsed_to(*pending.start) * 1e6);
    pending.span.end = base.time + int64_t(base.event->elapsed_to(*pending.stop) * 1e6);
    done.device.push_back(std::move(pending.span));
  }
  for (TimedSpan &span : done.host)
    if (span.end == 0) span.end = end;  // of a thread that is still within it
  return {std::move(done.host), std::move(done.device), done.untimed};
}

void HostSpan::begin(SpanKind kind, std::string name) {
  std::lock_guard<std::mutex> guard(session_mutex);
  if (!profiler_running.load()) return;
  session_ = session_number.load();
  place_ = int64_t(session.host.size());
  session.host.push_back({std::move(name), kind, thread_number(), now(), 0, {}, {}, 0});
}

void HostSpan::note(const Tensor *inputs, int count) {
  std::lock_guard<std::mutex> guard(session_mutex);
  if (session_ == session_number.load() && session.shapes)
    session.host[size_t(place_)].shapes = shapes_of(inputs, count);
}

void HostSpan::end() {
  std::lock_guard<std::mutex> guard(session_mutex);
  if (session_ == session_number.load()) session.host[size_t(place_)].end = std::max<int64_t>(now(), 1);
}

void DeviceSpan::begin(SpanKind kind, const char *name, Stream &stream) {
  Device &device = stream.device();
  {
    std::lock_guard<std::mutex> guard(session_mutex);
    if (!profiler_running.load() || !session.devices) return;
    session_ = session_number.load();
    if (!device.synchronous() && (!device.api().event_create || !device.api().event_elapsed)) {
      session.untimed = true;
      return;
    }
  }
  kind_ = kind, name_ = name, stream_ = &stream;
  if (device.synchronous()) {
    begin_ = now();
    return;
  }
  if (!has_base(device)) make_base(device, stream);
  start_ = make_ref<Event>(device, true);
  start_->record(stream);
}

void DeviceSpan::end() {
  const int64_t end = now();
  Ref<Event> stop;
  if (start_) {
    try {
      stop = make_ref<Event>(stream_->device(), true);
      stop->record(*stream_);
    } catch (const Error &error) {
      return stream_->device().note_failure(error);
    }
  }
  std::lock_guard<std::mutex> guard(session_mutex);
  if (session_ != session_number.load()) return;
  TimedSpan span{name_, kind_, thread_number(), begin_, end, {}, stream_->device().name(), stream_place(*stream_)};
  if (start_)
    session.pending.push_back({std::move(span), &stream_->device(), start_, stop});
  else
    session.device.push_back(std::move(span));
}

}  // namespace dougong
