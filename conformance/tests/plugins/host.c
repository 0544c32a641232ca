/* A correct synchronous plugin over host memory, for the tests of the judge.
 *
 * DG_TEST_FAULT=<what> makes it misbehave: look for `fault`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int context;
static _Thread_local char last_error[256];
static char shared_error[256];

static int fault(const char *what) {
  const char *chosen = getenv("DG_TEST_FAULT");
  return chosen != NULL && strcmp(chosen, what) == 0;
}

static void misbehave(void) {
  if (fault("segfault")) *(volatile int *)8 = 1;
  if (fault("abort")) abort();
  if (fault("exit")) exit(0);
  if (fault("hang"))
    for (;;) usleep(1000);
  if (fault("noise")) printf("{\"reply\": \"ended\", \"verdict\": \"fail\"}\n"), fflush(stdout);
  if (fault("slow")) usleep(200000);
}

static dg_status_t fail(dg_status_t status, const char *sentence) {
  snprintf(last_error, sizeof last_error, "%s", sentence);
  snprintf(shared_error, sizeof shared_error, "%s (%p)", sentence, (void *)last_error);
  return status;
}

static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  (void)host;
  if (fault("initialize")) return fail(DG_STATUS_INTERNAL, "the driver was not found, code 42");
  if (fault("initialize-crash")) abort();
  *out_context = &context;
  return DG_STATUS_OK;
}

static dg_status_t device_count(void *self, int32_t *out_count) {
  (void)self;
  static int calls;
  *out_count = fault("count-changes") && ++calls > 5 ? 2 : 1;
  return DG_STATUS_OK;
}

static const char *get_last_error(void *self) {
  (void)self;
  if (fault("error-not-utf8")) return "\xff\xfe";
  if (fault("no-sentence")) return "";
  return fault("error-shared") ? shared_error : last_error;
}

static dg_status_t device_create(void *self, int32_t index, dg_device_t **out_device) {
  if (index != 0 && fault("any-index")) index = 0;
  if (index != 0 && fault("unknown-status")) return 77;
  if (index != 0) return fail(DG_STATUS_INVALID_ARGUMENT, "there is one device, index 0");
  *out_device = (dg_device_t *)self;
  return DG_STATUS_OK;
}

static void device_destroy(dg_device_t *device) { (void)device; }

static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *out) {
  (void)device;
  if (fault("properties-too-long")) ((char *)out)[sizeof *out + 3] = 1;
  if (fault("priorities")) out->lowest_priority = 1;
  if (fault("capabilities")) out->capabilities |= (uint64_t)1 << 40;
  out->name = fault("name-not-utf8") ? "\xff" : "host memory";
  out->capabilities |= DG_DEVICE_HOST_ACCESSIBLE;
  out->alignment = fault("alignment-odd") ? 48 : 64;
  return DG_STATUS_OK;
}

static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  (void)device;
  static char *shared;
  if (fault("any-kind")) kind = DG_MEMORY_DEVICE;
  if (kind != DG_MEMORY_DEVICE && kind != DG_MEMORY_HOST_PINNED)
    return fail(DG_STATUS_UNSUPPORTED, "no such memory kind");
  if (size > (size_t)1 << 40 && fault("huge-is-internal")) return fail(DG_STATUS_INTERNAL, "malloc returned null");
  if (size > (size_t)1 << 40 && fault("huge-wraps")) size = 64;
  if (size > (size_t)1 << 40) return fail(DG_STATUS_OUT_OF_MEMORY, "more bytes than the device has");
  void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
  if (memory == NULL) return fail(DG_STATUS_OUT_OF_MEMORY, "the host has no memory left");
  if (fault("misaligned") && kind == DG_MEMORY_DEVICE) memory = (char *)aligned_alloc(64, size + 128) + 16;
  if (fault("shared") && size == 64) memory = shared != NULL ? shared : (shared = memory);
  *out_handle = memory;
  return DG_STATUS_OK;
}

static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  (void)device, (void)kind;
  if (!fault("misaligned") && !fault("shared")) free(handle);
  return DG_STATUS_OK;
}

static dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t offset, const void *source,
                                       size_t size, dg_stream_t *stream) {
  (void)device, (void)stream;
  if (fault("offset-ignored")) offset = 0;
  if (fault("offset-in-words")) offset = offset / 4 * 4;
  if (fault("size-in-words")) size = (size + 3) / 4 * 4;
  memcpy((char *)destination + offset, source, size);
  return DG_STATUS_OK;
}

static dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t offset,
                                       size_t size, dg_stream_t *stream) {
  (void)device, (void)stream;
  if (fault("reads-in-words")) size = (size + 3) / 4 * 4;
  memcpy(destination, (const char *)source + offset, size);
  return DG_STATUS_OK;
}

static dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                         const void *source, size_t source_offset, size_t size, dg_stream_t *stream) {
  (void)device, (void)stream;
  if (fault("source-offset-ignored")) source_offset = 0;
  memcpy((char *)destination + destination_offset, (const char *)source + source_offset, size);
  return DG_STATUS_OK;
}

static dg_status_t memory_fill(dg_device_t *device, void *destination, size_t offset, const void *pattern,
                               size_t pattern_size, size_t count, dg_stream_t *stream) {
  (void)device, (void)stream;
  misbehave();
  if (fault("wrong-fill")) count -= 1;
  if (fault("long-fill")) count += 1;
  for (size_t i = 0; i < count; ++i) memcpy((char *)destination + offset + i * pattern_size, pattern, pattern_size);
  return DG_STATUS_OK;
}

static const dg_device_api_t device_api = {
    .struct_size = sizeof(dg_device_api_t),
    .device_create = device_create,
    .device_destroy = device_destroy,
    .device_get_properties = device_get_properties,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .copy_host_to_device = copy_host_to_device,
    .copy_device_to_host = copy_device_to_host,
    .copy_device_to_device = copy_device_to_device,
    .memory_fill = memory_fill,
};

static const dg_plugin_t plugin = {
    .struct_size = sizeof(dg_plugin_t),
    .abi_version = DG_ABI_VERSION,
    .name = "host",
    .version = "1.2.3",
    .initialize = initialize,
    .device_count = device_count,
    .get_last_error = get_last_error,
    .device = &device_api,
};

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
