// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "allocator.h"
#include "loader_checks.h"
#include "pinned.h"
#include "profiler.h"
#include "stream.h"

namespace dougong {

namespace {

// Host memory for a copy in pieces.
constexpr uint64_t staging_size = uint64_t(8) << 20;

thread_local std::unordered_map<const Device *, Ref<Stream>> current_streams;

bool not_offered(dg_status_t status) { return status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_UNIMPLEMENTED; }

// The host may touch the memory at handle + offset once the device's work is done.
bool addressable(const Device &device) { return device.host_accessible() && !device.has(DG_DEVICE_OPAQUE_MEMORY); }

// Work queued on `later` from now on comes after everything queued on `earlier` so far.
void order_streams(Stream &earlier, Stream &later) {
  if (&earlier == &later || !earlier.handle()) return;
  if (!earlier.device().api().event_create) return earlier.synchronize();
  const auto event = make_ref<Event>(earlier.device(), false);
  event->record(earlier);
  later.wait(*event);
}

}  // namespace

Device::Device(Plugin &plugin, int32_t index)
    : plugin_(plugin), index_(index), name_(plugin.name() + ":" + std::to_string(index)) {
  plugin_.check(api().device_create(plugin_.context(), index, &handle_), "device_create");
  try {
    open();
  } catch (...) {
    default_stream_ = nullptr;
    api().device_destroy(handle_);
    throw;
  }
}

Device::~Device() = default;  // devices live as long as the process

void Device::open() {
  const Checked checked(plugin_.path());
  if (!handle_)
    checked.refuse("device_create: out_device", "a device", "a null pointer with DG_STATUS_OK",
                   "return the device, which may be any address but null, or an error");
  read_properties();
  read_kernels();
  allocator_ = std::make_unique<Allocator>(*this);
  default_stream_ = make_ref<Stream>(*this, 0);
  if (!synchronous() && !default_stream_->handle())
    checked.refuse("stream_create: out_stream", "a stream", "a null pointer with DG_STATUS_OK",
                   "return the stream, or an error");
}

void Device::read_properties() {
  properties_.struct_size = sizeof properties_;
  plugin_.check(api().device_get_properties(handle_, &properties_), "device_get_properties");
  check_properties(Checked(plugin_.path()), properties_);
  if (!properties_.name) properties_.name = "";
  if (!properties_.architecture) properties_.architecture = "";
  if (!properties_.alignment) properties_.alignment = 64;
  if (!properties_.dlpack_device_type) properties_.dlpack_device_type = 12;
}

void Device::read_kernels() {
  if (!api().device_get_kernels) return;
  const dg_kernel_t *const *kernels = nullptr;
  size_t count = 0;
  plugin_.check(api().device_get_kernels(handle_, &kernels, &count), "device_get_kernels");
  kernels_ = check_kernels(Checked(plugin_.path()), kernels, count);
}

bool Device::supports_dtype(dg_dtype_t dtype) const {
  if (!properties_.dtypes) return true;
  for (const dg_dtype_t *known = properties_.dtypes; *known != DG_DTYPE_NONE; ++known)
    if (*known == dtype) return true;
  return false;
}

Stream &Device::current_stream() {
  if (!streams_in_use_.load(std::memory_order_relaxed)) return *default_stream_;
  const auto found = current_streams.find(this);
  return found == current_streams.end() ? *default_stream_ : *found->second;
}

void Device::set_current_stream(Stream &stream) {
  if (&stream.device() != this)
    fail(DG_STATUS_INVALID_ARGUMENT, "a stream of %s cannot be the current one of %s", stream.device().name().c_str(),
         name_.c_str());
  streams_in_use_.store(true, std::memory_order_relaxed);
  current_streams[this] = Ref<Stream>(&stream);
}

Ref<Stream> Device::create_stream(int32_t priority) { return make_ref<Stream>(*this, priority); }

void Device::copy_from_host(void *handle, uint64_t offset, const void *source, uint64_t size, Stream &stream) {
  check_usable();
  if (size == 0) return;
  {
    const DeviceSpan span(SpanKind::copy, "copy to device", stream);
    const Submission submission(stream);
    plugin_.check(api().copy_host_to_device(handle_, handle, offset, source, size, stream.handle()),
                  "copy_host_to_device");
  }
  finish_host_copy(*this, source, stream);
}

void Device::copy_to_host(void *destination, const void *handle, uint64_t offset, uint64_t size, Stream &stream) {
  check_usable();
  if (size == 0) return;
  {
    const DeviceSpan span(SpanKind::copy, "copy to host", stream);
    const Submission submission(stream);
    plugin_.check(api().copy_device_to_host(handle_, destination, handle, offset, size, stream.handle()),
                  "copy_device_to_host");
  }
  finish_host_copy(*this, destination, stream);
}

void Device::copy(void *destination, uint64_t destination_offset, const void *source, uint64_t source_offset,
                  uint64_t size, Stream &stream) {
  check_usable();
  if (size == 0) return;
  if (api().copy_device_to_device) {
    const DeviceSpan span(SpanKind::copy, "copy on device", stream);
    const Submission submission(stream);
    return plugin_.check(api().copy_device_to_device(handle_, destination, destination_offset, source, source_offset,
                                                     size, stream.handle()),
                         "copy_device_to_device");
  }
  std::vector<char> staging(std::min(size, staging_size));
  for (uint64_t done = 0; done < size; done += staging.size()) {
    const uint64_t piece = std::min<uint64_t>(staging.size(), size - done);
    copy_to_host(staging.data(), source, source_offset + done, piece, stream);
    copy_from_host(destination, destination_offset + done, staging.data(), piece, stream);
  }
}

void Device::fill(void *handle, uint64_t offset, const void *pattern, size_t pattern_size, uint64_t count,
                  Stream &stream) {
  check_usable();
  if (count == 0) return;
  if (api().memory_fill) {
    const DeviceSpan span(SpanKind::copy, "fill", stream);
    const Submission submission(stream);
    return plugin_.check(api().memory_fill(handle_, handle, offset, pattern, pattern_size, count, stream.handle()),
                         "memory_fill");
  }
  const uint64_t size = pattern_size * count;
  std::vector<char> staging(std::min(size, staging_size));
  for (size_t i = 0; i < staging.size(); i += pattern_size) std::memcpy(&staging[i], pattern, pattern_size);
  for (uint64_t done = 0; done < size; done += staging.size())
    copy_from_host(handle, offset + done, staging.data(), std::min<uint64_t>(staging.size(), size - done), stream);
}

namespace {

struct Place {
  Device &device;
  char *handle;
  uint64_t offset;
  Stream &stream;
  void *address() const { return handle + offset; }
};

// Through the plugin that has both devices. Both streams are ordered round the copy, because the memory of each is
// given out again by its own stream. False if the pair is not connected.
bool copy_peer(const Place &to, const Place &from, uint64_t size) {
  const dg_device_api_t &api = to.device.api();
  if (&to.device.plugin() != &from.device.plugin() || !api.copy_peer) return false;
  order_streams(from.stream, to.stream);
  dg_status_t status;
  {
    const DeviceSpan span(SpanKind::copy, "copy between devices", to.stream);
    const Submission submission(to.stream);
    status = api.copy_peer(to.device.handle(), to.handle, to.offset, from.device.handle(), from.handle, from.offset,
                           size, to.stream.handle());
  }
  if (not_offered(status)) return false;
  to.device.plugin().check(status, "copy_peer");
  order_streams(to.stream, from.stream);
  return true;
}

void copy_through_host(const Place &to, const Place &from, uint64_t size) {
  std::vector<char> staging(std::min(size, staging_size));
  for (uint64_t done = 0; done < size; done += staging.size()) {
    const uint64_t piece = std::min<uint64_t>(staging.size(), size - done);
    from.device.copy_to_host(staging.data(), from.handle, from.offset + done, piece, from.stream);
    to.device.copy_from_host(to.handle, to.offset + done, staging.data(), piece, to.stream);
  }
}

}  // namespace

void Device::copy_between(Device &destination_device, void *destination, uint64_t destination_offset,
                          Device &source_device, const void *source, uint64_t source_offset, uint64_t size) {
  destination_device.check_usable();
  source_device.check_usable();
  if (size == 0) return;
  const Place to{destination_device, static_cast<char *>(destination), destination_offset,
                 destination_device.current_stream()};
  const Place from{source_device, static_cast<char *>(const_cast<void *>(source)), source_offset,
                   source_device.current_stream()};
  if (&destination_device == &source_device)
    return destination_device.copy(destination, destination_offset, source, source_offset, size, to.stream);
  if (copy_peer(to, from, size)) return;
  if (addressable(source_device)) {
    from.stream.synchronize();
    return destination_device.copy_from_host(destination, destination_offset, from.address(), size, to.stream);
  }
  if (addressable(destination_device)) {
    to.stream.synchronize();
    return source_device.copy_to_host(to.address(), source, source_offset, size, from.stream);
  }
  copy_through_host(to, from, size);
}

void Device::synchronize() {
  check_usable();
  run_deferred();
  const Unlocked unlocked(!synchronous());
  if (api().device_synchronize)
    plugin_.check(api().device_synchronize(handle_), "device_synchronize");
  else
    synchronize_streams();
  throw_noted();
}

// All of them, also after a failure; then the first failure.
void Device::synchronize_streams() {
  std::vector<Ref<Stream>> streams;
  {
    std::lock_guard<std::mutex> guard(streams_mutex_);
    for (Stream *stream : streams_) {
      if (!stream->try_retain()) continue;
      streams.emplace_back(stream);
      stream->release();
    }
  }
  std::unique_ptr<Error> first;
  for (const Ref<Stream> &stream : streams) {
    try {
      plugin_.check(api().stream_synchronize(handle_, stream->handle()), "stream_synchronize");
    } catch (const Error &error) {
      if (!first) first = std::make_unique<Error>(error);
    }
  }
  if (first) throw Error(*first);
}

void Device::note_failure(const Error &error) {
  std::lock_guard<std::mutex> guard(noted_mutex_);
  if (!noted_) noted_ = std::make_unique<Error>(error);
  has_noted_.store(true, std::memory_order_release);
}

void Device::throw_first_noted() {
  std::unique_lock<std::mutex> guard(noted_mutex_);
  const std::unique_ptr<Error> error = std::move(noted_);
  has_noted_.store(false, std::memory_order_release);
  if (error) throw Error(*error);
}

void Device::run_or_defer(std::function<void()> function) {
  if (!inside_callback()) return function();
  std::lock_guard<std::mutex> guard(deferred_mutex_);
  deferred_.push_back(std::move(function));
  has_deferred_.store(true, std::memory_order_release);
}

void Device::run_all_deferred() {
  if (inside_callback()) return;
  std::vector<std::function<void()>> functions;
  {
    std::lock_guard<std::mutex> guard(deferred_mutex_);
    functions.swap(deferred_);
    has_deferred_.store(false, std::memory_order_release);
  }
  for (const auto &function : functions) function();
}

void Device::add_stream(Stream &stream) {
  std::lock_guard<std::mutex> guard(streams_mutex_);
  streams_.push_back(&stream);
}

void Device::remove_stream(Stream &stream) {
  std::lock_guard<std::mutex> guard(streams_mutex_);
  streams_.erase(std::remove(streams_.begin(), streams_.end(), &stream), streams_.end());
}

}  // namespace dougong
