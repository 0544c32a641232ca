// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "error.h"

namespace dougong::cpu {

HostMemory host_memory() {
  struct sysinfo info{};
  sysinfo(&info);
  HostMemory memory{uint64_t(info.freeram) * info.mem_unit, uint64_t(info.totalram) * info.mem_unit};
  // The kernel's own estimate counts the page cache that it would give up.
  if (std::FILE *file = std::fopen("/proc/meminfo", "re")) {
    char line[128];
    unsigned long long kilobytes;
    while (std::fgets(line, sizeof line, file)) {
      if (std::sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1) memory.available = kilobytes * 1024;
    }
    std::fclose(file);
  }
  return memory;
}

// The system hands out more memory than it has and ends processes later, so what cannot be there is refused here.
static dg_status_t refuse(size_t size, const HostMemory &memory) {
  return fail(DG_STATUS_OUT_OF_MEMORY,
              "cpu: %zu bytes were asked for, %llu of the machine's %llu bytes are available; free tensors or use "
              "smaller batches",
              size, static_cast<unsigned long long>(memory.available), static_cast<unsigned long long>(memory.total));
}

dg_status_t memory_allocate(dg_device_t *, dg_memory_kind_t kind, size_t size, void **out_handle) {
  if (kind != DG_MEMORY_DEVICE && kind != DG_MEMORY_HOST_PINNED)
    return fail(DG_STATUS_UNSUPPORTED, "cpu: memory kind %d is unknown; there are DEVICE (0) and HOST_PINNED (1)",
                kind);
  constexpr size_t always_checked = size_t(64) << 20;
  if (size >= always_checked) {
    HostMemory memory = host_memory();
    if (size > memory.available) return refuse(size, memory);
  }
  void *handle = std::aligned_alloc(memory_alignment, (size + memory_alignment - 1) & ~(memory_alignment - 1));
  if (!handle) return refuse(size, host_memory());
  *out_handle = handle;
  return DG_STATUS_OK;
}

dg_status_t memory_free(dg_device_t *, dg_memory_kind_t, void *handle) {
  std::free(handle);
  return DG_STATUS_OK;
}

dg_status_t memory_get_info(dg_device_t *, uint64_t *out_free, uint64_t *out_total) {
  HostMemory memory = host_memory();
  *out_free = memory.available;
  *out_total = memory.total;
  return DG_STATUS_OK;
}

dg_status_t copy_host_to_device(dg_device_t *, void *destination, size_t destination_offset, const void *source,
                                size_t size, dg_stream_t *) {
  std::memcpy(static_cast<char *>(destination) + destination_offset, source, size);
  return DG_STATUS_OK;
}

dg_status_t copy_device_to_host(dg_device_t *, void *destination, const void *source, size_t source_offset, size_t size,
                                dg_stream_t *) {
  std::memcpy(destination, static_cast<const char *>(source) + source_offset, size);
  return DG_STATUS_OK;
}

dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                  size_t source_offset, size_t size, dg_stream_t *stream) {
  return copy_host_to_device(device, destination, destination_offset, static_cast<const char *>(source) + source_offset,
                             size, stream);
}

dg_status_t memory_fill(dg_device_t *, void *destination, size_t destination_offset, const void *pattern,
                        size_t pattern_size, size_t count, dg_stream_t *) {
  if (pattern_size == 0 || pattern_size > 16 || (pattern_size & (pattern_size - 1)) != 0)
    return fail(DG_STATUS_INVALID_ARGUMENT, "cpu: a pattern has 1, 2, 4, 8 or 16 bytes; found %zu", pattern_size);
  char *begin = static_cast<char *>(destination) + destination_offset;
  size_t total = pattern_size * count, done = std::min(total, pattern_size);
  std::memcpy(begin, pattern, done);
  while (done < total) {
    size_t size = std::min(done, total - done);
    std::memcpy(begin + done, begin, size);
    done += size;
  }
  return DG_STATUS_OK;
}

}  // namespace dougong::cpu
