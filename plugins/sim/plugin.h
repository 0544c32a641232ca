// The objects behind the handles of the device API.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <exception>
#include <map>
#include <new>

#include "kernels.h"
#include "options.h"

namespace sim::plugin {

struct Context {
  ~Context();  // ends the workers of devices that were left open

  Options options;
  FaultPlan faults;
  PinnedMemory pinned;
  std::unique_ptr<Kernels> kernels;
  std::mutex mutex;
  std::map<int32_t, dg_device_t *> open;  // by index
};

}  // namespace sim::plugin

// Opened twice it is one object, counted twice.
struct dg_device {
  sim::plugin::Context &context;
  const int32_t index;
  int references = 1;
  std::string name;
  std::unique_ptr<sim::Device> engine;
  std::shared_ptr<sim::Queue> own_queue;  // of a device without streams
};

struct dg_stream {
  std::shared_ptr<sim::Queue> queue;
};

struct dg_event {
  sim::Event event;
};

namespace sim::plugin {

// What each slot begins with: INVALID_ARGUMENT in a forked child, DEVICE_LOST, or the planned fault of this call. A
// fault that comes later is left in out_fault.
dg_status_t begin(dg_device_t *device, const char *slot, Fault *out_fault = nullptr);

// The queue that a stream stands for; INVALID_ARGUMENT for a null stream of a device that has streams.
dg_status_t queue_of(dg_device_t *device, dg_stream_t *stream, Queue **out_queue);

// What a slot ends with that has queued work: a device without streams waits for it.
dg_status_t finish(Queue &queue, dg_stream_t *stream);

// An exception becomes a status.
template <auto slot>
struct Guarded;
template <class... Arguments, dg_status_t (*slot)(Arguments...)>
struct Guarded<slot> {
  static dg_status_t call(Arguments... arguments) noexcept {
    try {
      return slot(arguments...);
    } catch (const std::bad_alloc &) {
      return fail(DG_STATUS_OUT_OF_MEMORY, "sim: the host has no memory left for the simulator's own use");
    } catch (const std::exception &error) {
      return fail(DG_STATUS_INTERNAL, "sim: %s", error.what());
    }
  }
};

}  // namespace sim::plugin
