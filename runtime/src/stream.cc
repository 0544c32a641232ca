// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "device.h"

namespace dougong {

namespace {

using Function = std::function<void(dg_status_t)>;

thread_local bool running_callback = false;

// What the plugin calls. Nothing may be thrown into it.
void run_callback(void *user_data, dg_status_t status) {
  const std::unique_ptr<Function> function(static_cast<Function *>(user_data));
  const bool before = std::exchange(running_callback, true);
  try {
    (*function)(status);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "dougong: a stream callback failed: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "dougong: a stream callback failed with an unknown exception\n");
  }
  running_callback = before;
}

// For calls that cannot throw: what they find is thrown later.
void note(Device &device, dg_status_t status, const char *slot) {
  try {
    device.plugin().check(status, slot);
  } catch (const Error &error) {
    device.note_failure(error);
  }
}

bool done(Device &device, dg_status_t status, const char *slot) {
  if (status == DG_STATUS_NOT_READY) return false;
  device.plugin().check(status, slot);
  device.throw_noted();
  return true;
}

}  // namespace

bool inside_callback() { return running_callback; }

Stream::Stream(Device &device, int32_t priority) : device_(device) {
  device.check_usable();
  const dg_device_api_t &api = device.api();
  if (!api.stream_create) {
    if (!device.has(DG_DEVICE_CONCURRENT)) mutex_ = &device.call_mutex();
    return;
  }
  mutex_ = &own_mutex_;
  const Unlocked unlocked;
  device.plugin().check(api.stream_create(device.handle(), priority, &handle_), "stream_create");
  device.add_stream(*this);
}

Stream::~Stream() {
  if (!handle_ || !device_.plugin().usable()) return;
  const Unlocked unlocked;
  device_.remove_stream(*this);
  device_.run_or_defer([&device = device_, handle = handle_] {
    note(device, device.api().stream_destroy(device.handle(), handle), "stream_destroy");
  });
}

bool Stream::query() {
  device_.check_usable();
  if (!handle_) return done(device_, DG_STATUS_OK, "stream_query");
  return done(device_, device_.api().stream_query(device_.handle(), handle_), "stream_query");
}

void Stream::synchronize() {
  device_.check_usable();
  device_.run_deferred();
  if (handle_) {
    const Unlocked unlocked;
    device_.plugin().check(device_.api().stream_synchronize(device_.handle(), handle_), "stream_synchronize");
  }
  device_.throw_noted();
}

void Stream::wait(Event &event) {
  device_.check_usable();
  if (!handle_ && !event.handle() && !event.stream_) return;
  const dg_device_api_t &api = device_.api();
  if (handle_ && event.handle() && api.stream_wait_event && &event.device().plugin() == &device_.plugin()) {
    const Submission submission(*this);
    const dg_status_t status = api.stream_wait_event(device_.handle(), handle_, event.handle());
    if (status == DG_STATUS_OK) return;
    if (status != DG_STATUS_UNSUPPORTED && status != DG_STATUS_UNIMPLEMENTED)
      device_.plugin().raise(status, "stream_wait_event");
  }
  event.synchronize();
}

void Stream::add_callback(Function function) {
  device_.check_usable();
  auto owned = std::make_unique<Function>(std::move(function));
  const dg_device_api_t &api = device_.api();
  if (handle_ && api.stream_add_callback) {
    const Submission submission(*this);
    device_.plugin().check(api.stream_add_callback(device_.handle(), handle_, run_callback, owned.get()),
                           "stream_add_callback");
    owned.release();
    return;
  }
  dg_status_t status = DG_STATUS_OK;
  if (handle_) {
    const Unlocked unlocked;
    status = api.stream_synchronize(device_.handle(), handle_);
    note(device_, status, "stream_synchronize");
  }
  run_callback(owned.release(), status);
}

Event::Event(Device &device, bool timing) : device_(device), timing_(timing) {
  device.check_usable();
  const dg_device_api_t &api = device.api();
  if (!api.event_create) return;
  const Unlocked unlocked;
  device.plugin().check(api.event_create(device.handle(), timing, &handle_), "event_create");
}

Event::~Event() {
  if (!handle_ || !device_.plugin().usable()) return;
  const Unlocked unlocked;
  device_.run_or_defer([&device = device_, handle = handle_] {
    note(device, device.api().event_destroy(device.handle(), handle), "event_destroy");
  });
}

void Event::record(Stream &stream) {
  device_.check_usable();
  if (&stream.device() != &device_)
    fail(DG_STATUS_INVALID_ARGUMENT, "an event of %s cannot be recorded on a stream of %s; make it on that device",
         device_.name().c_str(), stream.device().name().c_str());
  if (!stream.handle()) {
    time_ = std::chrono::steady_clock::now();
    return;
  }
  if (!handle_) {
    stream_ = Ref<Stream>(&stream);
    return;
  }
  const Submission submission(stream);
  device_.plugin().check(device_.api().event_record(device_.handle(), handle_, stream.handle()), "event_record");
}

bool Event::query() {
  device_.check_usable();
  if (stream_) return stream_->query();
  if (!handle_) return done(device_, DG_STATUS_OK, "event_query");
  return done(device_, device_.api().event_query(device_.handle(), handle_), "event_query");
}

void Event::synchronize() {
  device_.check_usable();
  if (stream_) return stream_->synchronize();
  if (handle_) {
    const Unlocked unlocked;
    device_.plugin().check(device_.api().event_synchronize(device_.handle(), handle_), "event_synchronize");
  }
  device_.throw_noted();
}

double Event::elapsed_to(Event &end) {
  device_.check_usable();
  if (!timing_ || !end.timing_)
    fail(DG_STATUS_INVALID_ARGUMENT, "elapsed time: both events must be made with enable_timing=True");
  if (&end.device_ != &device_)
    fail(DG_STATUS_INVALID_ARGUMENT, "elapsed time: one event is of %s, the other of %s", device_.name().c_str(),
         end.device_.name().c_str());
  if (device_.synchronous()) {
    const std::chrono::steady_clock::time_point never{};
    if (time_ == never || end.time_ == never)
      fail(DG_STATUS_INVALID_ARGUMENT, "elapsed time: an event was never recorded");
    return std::chrono::duration<double, std::milli>(end.time_ - time_).count();
  }
  if (!handle_ || !device_.api().event_elapsed)
    fail(DG_STATUS_UNSUPPORTED, "%s does not measure time: its plugin has no event_elapsed", device_.name().c_str());
  double milliseconds = 0;
  device_.plugin().check(device_.api().event_elapsed(device_.handle(), handle_, end.handle_, &milliseconds),
                         "event_elapsed");
  return milliseconds;
}

}  // namespace dougong
