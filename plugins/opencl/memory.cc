// Memory is cl_mem: a handle that is no address, and an offset beside it.
// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

bool dg_device::is_pinned(const void *address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex);
  auto after = pinned.upper_bound(const_cast<void *>(address));
  if (after == pinned.begin()) return false;
  --after;
  const char *begin = static_cast<const char *>(after->first);
  return static_cast<const char *>(address) + size <= begin + after->second.size;
}

namespace opencl {

namespace {

dg_status_t no_memory(dg_device_t *device, size_t size) {
  return fail(DG_STATUS_OUT_OF_MEMORY,
              "opencl:%d: wanted %zu bytes; %llu of %llu are allocated, and one block holds %llu", device->index, size,
              static_cast<unsigned long long>(device->allocated), static_cast<unsigned long long>(device->memory_total),
              static_cast<unsigned long long>(device->largest_block));
}

bool is_memory_error(int32_t error) {
  return error == out_of_memory || error == out_of_resources || error == out_of_host || error == invalid_buffer_size;
}

dg_status_t allocate_pinned(dg_device_t *device, size_t size, void **out_handle) {
  const Driver &cl = device->cl;
  int32_t error = success;
  const Handle buffer =
      cl.clCreateBuffer(device->context, memory_read_write | memory_host_pointer, size, nullptr, &error);
  if (error != success) return is_memory_error(error) ? no_memory(device, size) : check(error, "clCreateBuffer");
  void *address =
      cl.clEnqueueMapBuffer(device->own_queue, buffer, 1, map_read_write, 0, size, 0, nullptr, nullptr, &error);
  if (error != success) {
    cl.clReleaseMemObject(buffer);
    return check(error, "clEnqueueMapBuffer");
  }
  const std::lock_guard<std::mutex> guard(device->mutex);
  device->pinned[address] = {buffer, size};
  *out_handle = address;
  return DG_STATUS_OK;
}

dg_status_t free_pinned(dg_device_t *device, void *address) {
  const std::lock_guard<std::mutex> guard(device->mutex);
  const auto found = device->pinned.find(address);
  if (found == device->pinned.end())
    return fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: %p is no pinned block", device->index, address);
  const Driver &cl = device->cl;
  dg_status_t status =
      check(cl.clEnqueueUnmapMemObject(device->own_queue, found->second.buffer, address, 0, nullptr, nullptr),
            "clEnqueueUnmapMemObject");
  if (status == DG_STATUS_OK) status = check(cl.clFinish(device->own_queue), "clFinish");
  cl.clReleaseMemObject(found->second.buffer);
  device->pinned.erase(found);
  return status;
}

}  // namespace

dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  if (kind == DG_MEMORY_HOST_PINNED) return allocate_pinned(device, size, out_handle);
  if (kind != DG_MEMORY_DEVICE)
    return fail(DG_STATUS_UNSUPPORTED, "opencl:%d: there is no memory of kind %d", device->index, kind);
  if (size > device->largest_block || size > device->memory_total - device->allocated) return no_memory(device, size);
  int32_t error = success;
  const Handle buffer = device->cl.clCreateBuffer(device->context, memory_read_write, size, nullptr, &error);
  if (error != success) return is_memory_error(error) ? no_memory(device, size) : check(error, "clCreateBuffer");
  const std::lock_guard<std::mutex> guard(device->mutex);
  device->sizes[buffer] = size;
  device->allocated += size;
  *out_handle = buffer;
  return DG_STATUS_OK;
}

dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  if (kind == DG_MEMORY_HOST_PINNED) return free_pinned(device, handle);
  const std::lock_guard<std::mutex> guard(device->mutex);
  const auto found = device->sizes.find(handle);
  if (kind != DG_MEMORY_DEVICE || found == device->sizes.end())
    return fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: %p is no block of kind %d", device->index, handle, kind);
  device->allocated -= found->second;
  device->sizes.erase(found);
  return check(device->cl.clReleaseMemObject(handle), "clReleaseMemObject");
}

dg_status_t memory_get_info(dg_device_t *device, uint64_t *out_free, uint64_t *out_total) {
  *out_free = device->memory_total - device->allocated;
  *out_total = device->memory_total;
  return DG_STATUS_OK;
}

dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                size_t size, dg_stream_t *stream) {
  Handle event = nullptr;
  const uint32_t wait = !device->is_pinned(source, size);
  const int32_t error = device->cl.clEnqueueWriteBuffer(stream->queue, destination, wait, destination_offset, size,
                                                        source, 0, nullptr, &event);
  return stream->queued(error, event, "clEnqueueWriteBuffer");
}

dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                size_t size, dg_stream_t *stream) {
  Handle event = nullptr;
  const uint32_t wait = !device->is_pinned(destination, size);
  const int32_t error = device->cl.clEnqueueReadBuffer(stream->queue, const_cast<void *>(source), wait, source_offset,
                                                       size, destination, 0, nullptr, &event);
  return stream->queued(error, event, "clEnqueueReadBuffer");
}

dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                                  size_t source_offset, size_t size, dg_stream_t *stream) {
  Handle event = nullptr;
  const int32_t error = device->cl.clEnqueueCopyBuffer(stream->queue, const_cast<void *>(source), destination,
                                                       source_offset, destination_offset, size, 0, nullptr, &event);
  return stream->queued(error, event, "clEnqueueCopyBuffer");
}

dg_status_t memory_fill(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                        size_t pattern_size, size_t count, dg_stream_t *stream) {
  Handle event = nullptr;
  const int32_t error = device->cl.clEnqueueFillBuffer(stream->queue, destination, pattern, pattern_size,
                                                       destination_offset, pattern_size * count, 0, nullptr, &event);
  return stream->queued(error, event, "clEnqueueFillBuffer");
}

}  // namespace opencl
