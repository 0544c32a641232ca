// Faults in memory, copies and the plugin's tables.
//
// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "mutant.h"

namespace mutant {
namespace {

dg_status_t keep(dg_device_t *, dg_memory_kind_t, void *) { return DG_STATUS_OK; }

void leaks(dg_plugin_t &, dg_device_api_t &device) { device.memory_free = keep; }

dg_status_t misaligned_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  const dg_status_t status = base().device.memory_allocate(device, kind, size + 8, out_handle);
  if (status == DG_STATUS_OK) *out_handle = static_cast<char *>(*out_handle) + 8;
  return status;
}

dg_status_t misaligned_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  return base().device.memory_free(device, kind, static_cast<char *>(handle) - 8);
}

void misaligns(dg_plugin_t &, dg_device_api_t &device) {
  device.memory_allocate = misaligned_allocate;
  device.memory_free = misaligned_free;
}

// Rounds a size down to even, as copies by 16-bit words do.
size_t even(size_t size) { return size > 1 ? size & ~size_t{1} : size; }

dg_status_t upload_even(dg_device_t *device, void *destination, size_t offset, const void *source, size_t size,
                        dg_stream_t *stream) {
  return base().device.copy_host_to_device(device, destination, offset, source, even(size), stream);
}

dg_status_t download_even(dg_device_t *device, void *destination, const void *source, size_t offset, size_t size,
                          dg_stream_t *stream) {
  return base().device.copy_device_to_host(device, destination, source, offset, even(size), stream);
}

dg_status_t copy_even(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                      size_t source_offset, size_t size, dg_stream_t *stream) {
  return base().device.copy_device_to_device(device, destination, destination_offset, source, source_offset, even(size),
                                             stream);
}

void loses_the_last_byte_up(dg_plugin_t &, dg_device_api_t &device) { device.copy_host_to_device = upload_even; }
void loses_the_last_byte_down(dg_plugin_t &, dg_device_api_t &device) { device.copy_device_to_host = download_even; }
void loses_the_last_byte(dg_plugin_t &, dg_device_api_t &device) { device.copy_device_to_device = copy_even; }

dg_status_t copy_from_start(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                            size_t, size_t size, dg_stream_t *stream) {
  return base().device.copy_device_to_device(device, destination, destination_offset, source, 0, size, stream);
}

void ignores_the_source_offset(dg_plugin_t &, dg_device_api_t &device) {
  device.copy_device_to_device = copy_from_start;
}

dg_status_t fill_from_start(dg_device_t *device, void *destination, size_t, const void *pattern, size_t pattern_size,
                            size_t count, dg_stream_t *stream) {
  return base().device.memory_fill(device, destination, 0, pattern, pattern_size, count, stream);
}

void fill_ignores_the_offset(dg_plugin_t &, dg_device_api_t &device) { device.memory_fill = fill_from_start; }

// Fills with the first byte of the pattern, as memset does.
dg_status_t fill_first_byte(dg_device_t *device, void *destination, size_t offset, const void *pattern,
                            size_t pattern_size, size_t count, dg_stream_t *stream) {
  return base().device.memory_fill(device, destination, offset, pattern, 1, pattern_size * count, stream);
}

void fills_like_memset(dg_plugin_t &, dg_device_api_t &device) { device.memory_fill = fill_first_byte; }

// An upload that reads the caller's pageable memory at the next call only.
struct Pending {
  dg_device_t *device;
  void *destination;
  size_t offset;
  const void *source;
  size_t size;
  dg_stream_t *stream;
};

std::mutex pending_mutex;
std::vector<Pending> pending;

void catch_up() {
  std::lock_guard<std::mutex> lock(pending_mutex);
  for (const Pending &p : pending) {
    base().device.copy_host_to_device(p.device, p.destination, p.offset, p.source, p.size, p.stream);
  }
  pending.clear();
}

dg_status_t upload_later(dg_device_t *device, void *destination, size_t offset, const void *source, size_t size,
                         dg_stream_t *stream) {
  catch_up();
  std::lock_guard<std::mutex> lock(pending_mutex);
  pending.push_back({device, destination, offset, source, size, stream});
  return DG_STATUS_OK;
}

dg_status_t download_caught_up(dg_device_t *device, void *destination, const void *source, size_t offset, size_t size,
                               dg_stream_t *stream) {
  catch_up();
  return base().device.copy_device_to_host(device, destination, source, offset, size, stream);
}

void reads_the_source_late(dg_plugin_t &, dg_device_api_t &device) {
  device.copy_host_to_device = upload_later;
  device.copy_device_to_host = download_caught_up;
}

dg_status_t growing_count(void *context, int32_t *out_count) {
  static int32_t calls = 0;
  const dg_status_t status = base().plugin.device_count(context, out_count);
  *out_count += calls++ > 0;
  return status;
}

void changes_the_device_count(dg_plugin_t &plugin, dg_device_api_t &) { plugin.device_count = growing_count; }

dg_status_t open_any(void *context, int32_t, dg_device_t **out_device) {
  return base().device.device_create(context, 0, out_device);
}

void opens_any_index(dg_plugin_t &, dg_device_api_t &device) { device.device_create = open_any; }

dg_status_t allocate_any_kind(dg_device_t *device, dg_memory_kind_t, size_t size, void **out_handle) {
  return base().device.memory_allocate(device, DG_MEMORY_DEVICE, size, out_handle);
}

void takes_any_memory_kind(dg_plugin_t &, dg_device_api_t &device) { device.memory_allocate = allocate_any_kind; }

// Lends the same block to every allocation of up to 4096 bytes.
dg_status_t allocate_shared(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  static void *shared = nullptr;
  if (kind != DG_MEMORY_DEVICE || size > 4096) return base().device.memory_allocate(device, kind, size, out_handle);
  if (!shared) base().device.memory_allocate(device, kind, 4096, &shared);
  *out_handle = shared;
  return DG_STATUS_OK;
}

void shares_allocations(dg_plugin_t &, dg_device_api_t &device) {
  device.memory_allocate = allocate_shared;
  device.memory_free = keep;
}

dg_status_t odd_properties(dg_device_t *device, dg_device_properties_t *out) {
  const dg_status_t status = base().device.device_get_properties(device, out);
  out->alignment = 48;
  return status;
}

void declares_an_odd_alignment(dg_plugin_t &, dg_device_api_t &device) {
  device.device_get_properties = odd_properties;
}

void has_half_a_group(dg_plugin_t &, dg_device_api_t &device) {
  device.stream_query = nullptr;
  device.stream_create = [](dg_device_t *, int32_t, dg_stream_t **) { return dg_status_t{DG_STATUS_OK}; };
}

void lacks_a_required_slot(dg_plugin_t &, dg_device_api_t &device) { device.memory_free = nullptr; }

void has_an_absurd_size(dg_plugin_t &plugin, dg_device_api_t &) { plugin.struct_size = size_t{1} << 20; }

}  // namespace

const Fault memory_faults[] = {{"leaks", nullptr, leaks, 0},
                               {"misaligned", nullptr, misaligns, 0},
                               {"upload_last_byte", nullptr, loses_the_last_byte_up, 0},
                               {"download_last_byte", nullptr, loses_the_last_byte_down, 0},
                               {"copy_last_byte", nullptr, loses_the_last_byte, 0},
                               {"copy_offset", nullptr, ignores_the_source_offset, 0},
                               {"fill_offset", nullptr, fill_ignores_the_offset, 0},
                               {"fill_like_memset", nullptr, fills_like_memset, 0},
                               {"late_read", nullptr, reads_the_source_late, 0},
                               {"device_count", nullptr, changes_the_device_count, 0},
                               {"any_index", nullptr, opens_any_index, 0},
                               {"any_memory_kind", nullptr, takes_any_memory_kind, 0},
                               {"shared_memory", nullptr, shares_allocations, 0},
                               {"odd_alignment", nullptr, declares_an_odd_alignment, 0},
                               {"half_a_group", nullptr, has_half_a_group, 0},
                               {"required_slot", nullptr, lacks_a_required_slot, 0},
                               {"absurd_size", nullptr, has_an_absurd_size, 0},
                               {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
