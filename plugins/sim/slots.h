// The slots of the device table: memory.cc and streams.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin.h"

namespace sim::plugin {

dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle);
dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle);
dg_status_t memory_get_info(dg_device_t *device, uint64_t *out_free, uint64_t *out_total);
dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                size_t size, dg_stream_t *stream);
dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                size_t size, dg_stream_t *stream);
dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                  size_t source_offset, size_t size, dg_stream_t *stream);
dg_status_t copy_peer(dg_device_t *device, void *destination, size_t destination_offset, dg_device_t *source_device,
                      const void *source, size_t source_offset, size_t size, dg_stream_t *stream);
dg_status_t memory_fill(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                        size_t pattern_size, size_t count, dg_stream_t *stream);

dg_status_t stream_create(dg_device_t *device, int32_t priority, dg_stream_t **out_stream);
dg_status_t stream_destroy(dg_device_t *device, dg_stream_t *stream);
dg_status_t stream_query(dg_device_t *device, dg_stream_t *stream);
dg_status_t stream_synchronize(dg_device_t *device, dg_stream_t *stream);
dg_status_t stream_wait_event(dg_device_t *device, dg_stream_t *stream, dg_event_t *event);
dg_status_t stream_add_callback(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback, void *user_data);
dg_status_t event_create(dg_device_t *device, int32_t timing, dg_event_t **out_event);
dg_status_t event_destroy(dg_device_t *device, dg_event_t *event);
dg_status_t event_record(dg_device_t *device, dg_event_t *event, dg_stream_t *stream);
dg_status_t event_query(dg_device_t *device, dg_event_t *event);
dg_status_t event_synchronize(dg_device_t *device, dg_event_t *event);
dg_status_t event_elapsed(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds);

}  // namespace sim::plugin
