// One device of a plugin: its properties, memory, copies, streams and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin.h"
#include "ref.h"

namespace dougong {

class Allocator;
class Stream;

class Device {
 public:
  Device(Plugin &plugin, int32_t index);
  ~Device();

  Plugin &plugin() const { return plugin_; }
  int32_t index() const { return index_; }
  const std::string &name() const { return name_; }  // "acme:0"
  dg_device_t *handle() const { return handle_; }
  const dg_device_api_t &api() const { return plugin_.api(); }
  const dg_device_properties_t &properties() const { return properties_; }  // strings never null, defaults filled in
  Allocator &allocator() const { return *allocator_; }
  // Throws in a forked child, and once the process is exiting.
  void check_usable() const { plugin_.check_usable(); }

  bool synchronous() const { return api().stream_create == nullptr; }
  bool host_accessible() const { return properties_.capabilities & DG_DEVICE_HOST_ACCESSIBLE; }
  bool has(uint64_t capability) const { return properties_.capabilities & capability; }
  bool supports_dtype(dg_dtype_t dtype) const;

  // Validated on opening: entries whose struct_size, op or launch is missing are refused with the plugin.
  const std::vector<const dg_kernel_t *> &kernels() const { return kernels_; }

  // The stream that this thread works on: the default stream unless set_current_stream was called.
  Stream &current_stream();
  void set_current_stream(Stream &stream);
  Stream &default_stream() { return *default_stream_; }
  // Of a synchronous device that bears one call at a time: held during it.
  std::mutex &call_mutex() { return call_mutex_; }
  Ref<Stream> create_stream(int32_t priority);

  // Copies, queued on the stream, with the stated defaults where the plugin has no slot. A size of zero does nothing.
  // The source in host memory may be reused on return, and data that goes there is there: but see NonBlocking.
  void copy_from_host(void *handle, uint64_t offset, const void *source, uint64_t size, Stream &stream);
  void copy_to_host(void *destination, const void *handle, uint64_t offset, uint64_t size, Stream &stream);
  void copy(void *destination, uint64_t destination_offset, const void *source, uint64_t source_offset, uint64_t size,
            Stream &stream);
  void fill(void *handle, uint64_t offset, const void *pattern, size_t pattern_size, uint64_t count, Stream &stream);
  // Between two devices, of one plugin or of two. Ordered after all work on the source's current stream; the
  // destination's stream is ordered after the copy.
  static void copy_between(Device &destination_device, void *destination, uint64_t destination_offset,
                           Device &source_device, const void *source, uint64_t source_offset, uint64_t size);

  // Waits for everything, and throws the first failure.
  void synchronize();

  // A failure that was met where it could not be thrown: the next query or synchronize of the device, or of any stream
  // or event of it, throws it.
  void note_failure(const Error &error);
  void throw_noted() {
    if (__builtin_expect(has_noted_.load(std::memory_order_acquire), 0)) throw_first_noted();
  }

  // Runs the function now; on the thread of a callback, which may not call the plugin, it is kept for the next call of
  // `run_deferred` on another thread.
  void run_or_defer(std::function<void()> function);
  void run_deferred() {
    if (__builtin_expect(has_deferred_.load(std::memory_order_acquire), 0)) run_all_deferred();
  }

  // The dispatcher's own table of the kernels; it lives as long as the device.
  std::atomic<const void *> kernel_index{nullptr};
  // The Python object of this device, owned by it.
  std::atomic<void *> python{nullptr};

 private:
  friend class Stream;
  void open();
  void read_properties();
  void read_kernels();
  void synchronize_streams();
  void throw_first_noted();
  void run_all_deferred();
  void add_stream(Stream &stream);
  void remove_stream(Stream &stream);

  Plugin &plugin_;
  int32_t index_;
  std::string name_;
  dg_device_t *handle_ = nullptr;
  dg_device_properties_t properties_{};
  std::vector<const dg_kernel_t *> kernels_;
  std::unique_ptr<Allocator> allocator_;
  Ref<Stream> default_stream_;
  std::mutex call_mutex_;
  std::atomic<bool> streams_in_use_{false};  // some thread has had another current stream than the default one
  std::mutex streams_mutex_;
  std::vector<Stream *> streams_;
  std::mutex noted_mutex_;
  std::unique_ptr<Error> noted_;
  std::atomic<bool> has_noted_{false};
  std::mutex deferred_mutex_;
  std::vector<std::function<void()>> deferred_;
  std::atomic<bool> has_deferred_{false};
};

}  // namespace dougong
