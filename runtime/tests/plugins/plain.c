/* A synchronous plugin over host memory. Every -D switch makes one fault or one variant of it; without any it is right.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef NAME
#define NAME "acme"
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef ENTRY
#define ENTRY dg_plugin_entry_v1
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(dg_plugin_t)
#endif
#ifndef API_SIZE
#define API_SIZE sizeof(dg_device_api_t)
#endif
#ifndef ABI
#define ABI DG_ABI_VERSION
#endif
#ifndef STATUS
#define STATUS DG_STATUS_OK
#endif
#ifndef HANDLE
#define HANDLE &the_device
#endif

struct dg_device {
  int index;
};
static struct dg_device the_device;
static int initialized;

#ifdef UNDEFINED_SYMBOL
void vendor_function_of_a_missing_driver(void);
#endif

/* Not hidden and not static, as in a carelessly built library: two plugins that both have it must each see their own.
 */
#ifdef HELPER
int vendor_helper(void) { return HELPER; }
#endif

#ifdef COUNT_OVERLAPS
static int inside, overlaps;
DG_EXPORT int plain_overlaps(void) { return overlaps; } /* calls that came while another one ran */
#endif

static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  ++initialized;
  if (getenv("PLAIN_TRACE")) {
    const char *line = "plain plugin initialized\n";
    if (write(2, line, strlen(line)) < 0) return DG_STATUS_INTERNAL;
  }
#ifdef UNDEFINED_SYMBOL
  vendor_function_of_a_missing_driver();
#endif
#ifdef ABORT
  abort();
#endif
#ifdef HANG
  for (;;) sleep(1);
#endif
#ifdef FAIL_INITIALIZE
  return DG_STATUS_INCOMPATIBLE;
#endif
#ifdef UNAVAILABLE
  return DG_STATUS_UNSUPPORTED;
#endif
#ifdef LOG
  if (host->log) host->log(host->context, DG_LOG_WARNING, "a line of the plugin");
#endif
  if (host->abi_version >> 16 != DG_ABI_MAJOR) return DG_STATUS_INCOMPATIBLE;
  *out_context = &initialized;
  return STATUS;
}

static dg_status_t device_count(void *context, int32_t *out_count) {
  (void)context;
  *out_count = DEVICES;
  return DG_STATUS_OK;
}

/* The sentence changes with each call, so that a test sees which one was shown. */
static const char *get_last_error(void *context) {
  static const char *const sentences[] = {"driver not found 42", "already initialized", "already initialized"};
  (void)context;
  return sentences[initialized > 2 ? 2 : initialized - 1];
}

static dg_status_t device_create(void *context, int32_t index, dg_device_t **out_device) {
  (void)context;
  if (index < 0 || index >= DEVICES) return DG_STATUS_INVALID_ARGUMENT;
  *out_device = HANDLE;
  return DG_STATUS_OK;
}

static void device_destroy(dg_device_t *device) { (void)device; }

static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *p) {
  (void)device;
  p->name = "Plain";
  p->alignment = 64;
#ifdef PROPERTIES
  PROPERTIES;
#endif
  return DG_STATUS_OK;
}

static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  (void)device;
  if (kind != DG_MEMORY_DEVICE) return DG_STATUS_UNSUPPORTED;
  if (size > (size_t)1 << 40) return DG_STATUS_OUT_OF_MEMORY;
  return posix_memalign(out_handle, 64, size) == 0 ? DG_STATUS_OK : DG_STATUS_OUT_OF_MEMORY;
}

static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  (void)device;
  (void)kind;
  free(handle);
  return DG_STATUS_OK;
}

static dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                       const void *source, size_t size, dg_stream_t *stream) {
  (void)device;
  (void)stream;
#ifdef COUNT_OVERLAPS
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1) __atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
  usleep(200);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
#endif
  memcpy((char *)destination + destination_offset, source, size);
  return DG_STATUS_OK;
}

static dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                       size_t size, dg_stream_t *stream) {
  (void)device;
  (void)stream;
  memcpy(destination, (const char *)source + source_offset, size);
  return DG_STATUS_OK;
}

#ifdef KERNELS
static dg_status_t launch(const dg_kernel_call_t *call) {
  (void)call;
  return DG_STATUS_UNIMPLEMENTED;
}
static const dg_dtype_t bad_types[] = {DG_DTYPE_FLOAT32, 77, DG_DTYPE_NONE};
static const dg_kernel_t good = {sizeof(dg_kernel_t), "relu", {0}, 0, 0, 0, launch, 0, 0};
static const dg_kernel_t unknown_op = {sizeof(dg_kernel_t), "an_op_of_the_future", {0}, 0, 0, 0, launch, 0, 0};
static const dg_kernel_t null_op = {sizeof(dg_kernel_t), 0, {0}, 0, 0, 0, launch, 0, 0};
static const dg_kernel_t null_launch = {sizeof(dg_kernel_t), "relu", {0}, 0, 0, 0, 0, 0, 0};
static const dg_kernel_t zero_size = {0, "relu", {0}, 0, 0, 0, launch, 0, 0};
static const dg_kernel_t bad_dtype = {sizeof(dg_kernel_t), "relu", {bad_types}, 0, 0, 0, launch, 0, 0};
static const dg_kernel_t bad_alignment = {sizeof(dg_kernel_t), "relu", {0}, 0, 48, 0, launch, 0, 0};
static const dg_kernel_t *const kernels[] = {&good, KERNELS};
static const void *all_kernels[] = {&good, &unknown_op, &null_op, &null_launch, &zero_size, &bad_dtype, &bad_alignment};

#ifndef KERNEL_COUNT
#define KERNEL_COUNT 2
#endif
#ifndef KERNEL_LIST
#define KERNEL_LIST kernels
#endif
static dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  (void)device;
  (void)all_kernels;
  *out_kernels = KERNEL_LIST;
  *out_count = KERNEL_COUNT;
  return DG_STATUS_OK;
}
#endif

#ifdef GROUP
static dg_status_t any_slot(void) { return DG_STATUS_INTERNAL; }
#endif

/* Behind the tables lies what a newer minor version would have appended. */
static struct {
  dg_device_api_t api;
  void *later[8];
} device_api = {{
                    .struct_size = API_SIZE,
                    .device_create = device_create,
                    .device_destroy = device_destroy,
                    .device_get_properties = device_get_properties,
                    .memory_allocate = memory_allocate,
                    .memory_free = memory_free,
                    .copy_host_to_device = copy_host_to_device,
                    .copy_device_to_host = copy_device_to_host,
#ifdef KERNELS
                    .device_get_kernels = device_get_kernels,
#endif
#ifdef GROUP
                    .GROUP = (void *)any_slot,
#endif
                },
                {(void *)1, (void *)2}};

static struct {
  dg_plugin_t plugin;
  void *later[8];
} plugin = {{
                .struct_size = PLUGIN_SIZE,
                .abi_version = ABI,
                .name = NAME,
                .version = "1.0",
                .vendor = "the tests",
                .initialize = initialize,
                .device_count = device_count,
                .get_last_error = get_last_error,
                .device = &device_api.api,
            },
            {(void *)1, (void *)2}};

#ifdef NO_ENTRY
const dg_plugin_t *some_other_function(void);
const dg_plugin_t *some_other_function(void) { return &plugin.plugin; }
#else
DG_EXPORT const dg_plugin_t *ENTRY(void);
DG_EXPORT const dg_plugin_t *ENTRY(void) {
#ifdef CHANGE
  CHANGE;
#endif
#ifdef NULL_TABLE
  return 0;
#endif
#ifdef HELPER
  static char name[8] = "helper?";
  name[6] = (char)('0' + vendor_helper());
  plugin.plugin.name = name;
#endif
  return &plugin.plugin;
}
#endif
