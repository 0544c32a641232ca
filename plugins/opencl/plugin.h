// The objects behind the handles of the device API.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>
#include <dougong/ext/dg_compiler.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "driver.h"

namespace opencl {

struct Chip {
  Handle platform, device;
};

struct Context {
  const Driver *driver = nullptr;
  std::vector<Chip> chips;
};

// Keeps a sentence for get_last_error, and returns the status.
__attribute__((format(printf, 2, 3))) dg_status_t fail(dg_status_t status, const char *format, ...);
// The status and the sentence for an error of the driver; OK for success.
dg_status_t check(int32_t error, const char *call);
const char *last_error();

extern const dg_compiler_api_t compiler_api;

}  // namespace opencl

struct dg_device {
  const opencl::Driver &cl;
  const opencl::Chip chip;
  const int32_t index;
  opencl::Handle context = nullptr, own_queue = nullptr;  // the queue maps pinned memory
  int references = 1;
  std::string name, compiler_id;
  uint64_t memory_total = 0, largest_block = 0, alignment = 0;
  std::atomic<uint64_t> allocated{0};
  std::mutex mutex;  // of what follows
  struct Block {
    opencl::Handle buffer;
    size_t size;
  };
  std::map<void *, Block> pinned;           // by host address
  std::map<void *, size_t> sizes;           // of device memory, by handle
  std::vector<struct dg_stream *> streams;  // for device_synchronize
  bool is_pinned(const void *address, size_t size);
};

// An in-order queue, and the last thing that was put into it.
struct dg_stream {
  dg_device *device;
  opencl::Handle queue;
  std::mutex mutex;
  opencl::Handle last = nullptr;  // an event, or null while nothing was queued
  // Takes the event of what was just queued, or the error of queueing it.
  dg_status_t queued(int32_t error, opencl::Handle event, const char *call);
};

struct dg_event {
  dg_device *device;
  bool timing;
  std::mutex mutex;
  opencl::Handle recorded = nullptr;
};

namespace opencl {

// DG_STATUS_OK, NOT_READY or the failure of the work behind an event; null is complete.
dg_status_t status_of(dg_device *device, Handle event, const char *what);
template <class T>
T device_info(const Driver &cl, Handle device, uint32_t what) {
  T value{};
  cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}
std::string device_text(const Driver &cl, Handle device, uint32_t what);

// The slots, by file.
dg_status_t memory_allocate(dg_device_t *, dg_memory_kind_t, size_t, void **);
dg_status_t memory_free(dg_device_t *, dg_memory_kind_t, void *);
dg_status_t memory_get_info(dg_device_t *, uint64_t *, uint64_t *);
dg_status_t copy_host_to_device(dg_device_t *, void *, size_t, const void *, size_t, dg_stream_t *);
dg_status_t copy_device_to_host(dg_device_t *, void *, const void *, size_t, size_t, dg_stream_t *);
dg_status_t copy_device_to_device(dg_device_t *, void *, size_t, const void *, size_t, size_t, dg_stream_t *);
dg_status_t memory_fill(dg_device_t *, void *, size_t, const void *, size_t, size_t, dg_stream_t *);
dg_status_t stream_create(dg_device_t *, int32_t, dg_stream_t **);
dg_status_t stream_destroy(dg_device_t *, dg_stream_t *);
dg_status_t stream_query(dg_device_t *, dg_stream_t *);
dg_status_t stream_synchronize(dg_device_t *, dg_stream_t *);
dg_status_t stream_wait_event(dg_device_t *, dg_stream_t *, dg_event_t *);
dg_status_t stream_add_callback(dg_device_t *, dg_stream_t *, dg_callback_t, void *);
dg_status_t event_create(dg_device_t *, int32_t, dg_event_t **);
dg_status_t event_destroy(dg_device_t *, dg_event_t *);
dg_status_t event_record(dg_device_t *, dg_event_t *, dg_stream_t *);
dg_status_t event_query(dg_device_t *, dg_event_t *);
dg_status_t event_synchronize(dg_device_t *, dg_event_t *);
dg_status_t event_elapsed(dg_device_t *, dg_event_t *, dg_event_t *, double *);
dg_status_t device_synchronize(dg_device_t *);

}  // namespace opencl
