/* The dougong plugin of the device "[[name]]:0".
 *
 * It is complete: it loads, and every op works, because what has no kernel here is computed on the CPU and counted. It
 * uses host memory for the chip's. Replace the bodies by your driver's calls from the top down; after each step run
 * `dougong conformance run [[name]]:0`, which ends with what to write next.
 *
 * dougong/dg_device.h says what each slot promises.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <dougong/dg_ops.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_COUNT = 1, ALIGNMENT = 64 };

struct dg_device {
  int32_t index;
};

/* -- Errors: a status and a sentence. The sentence belongs to the thread. ------------------------------------------ */

// [errors]
static _Thread_local char last_error[256];

static dg_status_t fail(dg_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

static const char *get_last_error(void *context) {
  (void)context;
  return last_error;
}
// [errors end]

/* -- Devices ------------------------------------------------------------------------------------------------------- */

// [devices]
static dg_status_t device_create(void *context, int32_t index, dg_device_t **out_device) {
  (void)context;
  if (index < 0 || index >= DEVICE_COUNT)
    return fail(DG_STATUS_INVALID_ARGUMENT, "wanted a device from 0 to %d, found %d", DEVICE_COUNT - 1, index);
  dg_device_t *device = malloc(sizeof *device);
  if (!device) return fail(DG_STATUS_OUT_OF_MEMORY, "no host memory for device %d", index);
  device->index = index;
  *out_device = device;
  return DG_STATUS_OK;
}

static void device_destroy(dg_device_t *device) { free(device); }

static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *out_properties) {
  (void)device;
  const size_t host_size = out_properties->struct_size;
  const dg_device_properties_t properties = {
      .struct_size = host_size,
      .name = "[[name]] (host memory)",
      .capabilities = DG_DEVICE_DETERMINISTIC,
      .alignment = ALIGNMENT,
  };
  memcpy(out_properties, &properties, host_size < sizeof properties ? host_size : sizeof properties);
  return DG_STATUS_OK;
}
// [devices end]

/* -- Memory: a handle and a byte offset. Here the handle is an address; it may be anything pointer-sized. ---------- */

// [memory]
static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  (void)device;
  if (kind != DG_MEMORY_DEVICE && kind != DG_MEMORY_HOST_PINNED)
    return fail(DG_STATUS_UNSUPPORTED, "wanted device or pinned memory, found memory kind %d", kind);
  const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *handle = rounded < size ? NULL : aligned_alloc(ALIGNMENT, rounded);
  if (!handle) return fail(DG_STATUS_OUT_OF_MEMORY, "cannot allocate %zu bytes: free some, or ask for less", size);
  *out_handle = handle;
  return DG_STATUS_OK;
}

static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  (void)device, (void)kind;
  free(handle);
  return DG_STATUS_OK;
}
// [memory end]

/* -- Copies. This device is synchronous: `stream` is null, and the work is done on return. For a chip with queues fill
 * the stream and event slots of the table below, and queue the work here instead. ---------------------------------- */

// [copies]
static dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                       const void *source, size_t size, dg_stream_t *stream) {
  (void)device, (void)stream;
  memcpy((char *)destination + destination_offset, source, size);
  return DG_STATUS_OK;
}

static dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                       size_t size, dg_stream_t *stream) {
  (void)device, (void)stream;
  memcpy(destination, (const char *)source + source_offset, size);
  return DG_STATUS_OK;
}
// [copies end]

/* -- Kernels: one function for each, and a table. ------------------------------------------------------------------ */

// [kernel]
static size_t element_count(const dg_tensor_t *tensor) {
  size_t count = 1;
  for (int32_t axis = 0; axis < tensor->ndim; axis++) count *= (size_t)tensor->shape[axis];
  return count;
}

static void *first_element(const dg_tensor_t *tensor) { return (char *)tensor->data + tensor->byte_offset; }

/* The larger of x and 0, and NaN for NaN. Dense float32 only: that is all that `relu` below declares. */
static dg_status_t relu_launch(const dg_kernel_call_t *call) {
  const float *x = first_element(call->inputs[0]);
  float *y = first_element(call->outputs[0]);
  const size_t count = element_count(call->outputs[0]);
  for (size_t i = 0; i < count; i++) y[i] = x[i] <= 0.0f ? 0.0f : x[i];
  return DG_STATUS_OK;
}
// [kernel end]

// [table]
static const dg_dtype_t float32[] = {DG_DTYPE_FLOAT32, DG_DTYPE_NONE};

static const dg_kernel_t relu = {
    .struct_size = sizeof(dg_kernel_t),
    .op = DG_OP_RELU,
    .types = {float32},
    .flags = DG_KERNEL_DETERMINISTIC | DG_KERNEL_IN_PLACE,
    .launch = relu_launch,
};

static const dg_kernel_t *const kernels[] = {&relu};

static dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  (void)device;
  *out_kernels = kernels;
  *out_count = sizeof kernels / sizeof kernels[0];
  return DG_STATUS_OK;
}
// [table end]

/* -- The plugin ---------------------------------------------------------------------------------------------------- */

// [plugin]
/* Find your driver here. A failure's sentence is what the user sees. */
static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  (void)host;
  *out_context = NULL;
  return DG_STATUS_OK;
}

static dg_status_t device_count(void *context, int32_t *out_count) {
  (void)context;
  *out_count = DEVICE_COUNT;
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
    .device_get_kernels = device_get_kernels,
};

static const dg_plugin_t plugin = {
    .struct_size = sizeof(dg_plugin_t),
    .abi_version = DG_ABI_VERSION,
    .name = "[[name]]",
    .version = "0.1.0",
    .initialize = initialize,
    .device_count = device_count,
    .get_last_error = get_last_error,
    .device = &device_api,
};

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
// [plugin end]
