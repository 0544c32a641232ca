// Host memory as device memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

namespace dougong::cpu {

constexpr uint64_t memory_alignment = 64;

// Bytes that can be had now without swapping, and bytes of the machine.
struct HostMemory {
  uint64_t available, total;
};
HostMemory host_memory();

dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle);
dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle);
dg_status_t memory_get_info(dg_device_t *device, uint64_t *out_free, uint64_t *out_total);

dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                size_t size, dg_stream_t *stream);
dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                size_t size, dg_stream_t *stream);
dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                  size_t source_offset, size_t size, dg_stream_t *stream);
dg_status_t memory_fill(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                        size_t pattern_size, size_t count, dg_stream_t *stream);

}  // namespace dougong::cpu
