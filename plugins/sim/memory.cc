// SPDX-License-Identifier: Apache-2.0
#include "slots.h"

namespace sim::plugin {

namespace {

dg_status_t unknown_kind(dg_memory_kind_t kind) {
  return fail(DG_STATUS_UNSUPPORTED, "sim: memory kind %d is unknown; there are DEVICE (0) and HOST_PINNED (1)", kind);
}

// A slot that queues one piece of work: f(queue, fault) does it.
template <class F>
dg_status_t queue_work(dg_device_t *device, dg_stream_t *stream, const char *slot, F f) {
  Fault fault;
  Queue *queue;
  dg_status_t status = begin(device, slot, &fault);
  if (status == DG_STATUS_OK) status = queue_of(device, stream, &queue);
  if (status == DG_STATUS_OK) status = f(*queue, fault);
  return status == DG_STATUS_OK ? finish(*queue, stream) : status;
}

Device::Place place(dg_device_t *device, const void *handle, uint64_t offset) {
  return {*device->engine, handle, offset};
}

}  // namespace

dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  const dg_status_t status = begin(device, "memory_allocate");
  if (status != DG_STATUS_OK) return status;
  if (kind == DG_MEMORY_DEVICE) return device->engine->memory().allocate(size, out_handle);
  if (kind == DG_MEMORY_HOST_PINNED) return device->context.pinned.allocate(size, out_handle);
  return unknown_kind(kind);
}

// Also of a lost device; and quietly where there is no device any more.
dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  if (check_process() != DG_STATUS_OK) return DG_STATUS_OK;
  if (kind == DG_MEMORY_DEVICE) return device->engine->memory().free(handle);
  if (kind == DG_MEMORY_HOST_PINNED) return device->context.pinned.free(handle);
  return unknown_kind(kind);
}

dg_status_t memory_get_info(dg_device_t *device, uint64_t *out_free, uint64_t *out_total) {
  const dg_status_t status = begin(device, "memory_get_info");
  if (status != DG_STATUS_OK) return status;
  *out_free = device->engine->memory().free_bytes();
  *out_total = device->engine->memory().capacity();
  return DG_STATUS_OK;
}

dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                size_t size, dg_stream_t *stream) {
  return queue_work(device, stream, "copy_host_to_device", [&](Queue &queue, Fault fault) {
    return device->engine->copy_from_host(queue, place(device, destination, destination_offset), source, size,
                                          device->context.pinned, fault);
  });
}

dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                size_t size, dg_stream_t *stream) {
  return queue_work(device, stream, "copy_device_to_host", [&](Queue &queue, Fault fault) {
    return device->engine->copy_to_host(queue, destination, place(device, source, source_offset), size,
                                        device->context.pinned, fault);
  });
}

dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                  size_t source_offset, size_t size, dg_stream_t *stream) {
  return queue_work(device, stream, "copy_device_to_device", [&](Queue &queue, Fault fault) {
    return device->engine->copy(queue, place(device, destination, destination_offset),
                                place(device, source, source_offset), size, fault);
  });
}

dg_status_t copy_peer(dg_device_t *device, void *destination, size_t destination_offset, dg_device_t *source_device,
                      const void *source, size_t source_offset, size_t size, dg_stream_t *stream) {
  return queue_work(device, stream, "copy_peer", [&](Queue &queue, Fault fault) {
    const dg_status_t status = source_device->engine->check();
    if (status != DG_STATUS_OK) return status;
    return device->engine->copy(queue, place(device, destination, destination_offset),
                                place(source_device, source, source_offset), size, fault);
  });
}

dg_status_t memory_fill(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                        size_t pattern_size, size_t count, dg_stream_t *stream) {
  return queue_work(device, stream, "memory_fill", [&](Queue &queue, Fault fault) {
    return device->engine->fill(queue, place(device, destination, destination_offset), pattern, pattern_size, count,
                                fault);
  });
}

}  // namespace sim::plugin
