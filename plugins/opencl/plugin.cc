// OpenCL devices: opaque memory, queues, events, and a compiler. No kernel is written by hand.
// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace opencl {

namespace {

thread_local char error_text[2048] = "";

}  // namespace

const char *last_error() { return error_text; }

dg_status_t fail(dg_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
  return status;
}

dg_status_t check(int32_t error, const char *call) {
  if (error == success) return DG_STATUS_OK;
  const bool memory = error == out_of_memory || error == out_of_host;
  return fail(memory ? DG_STATUS_OUT_OF_MEMORY : DG_STATUS_INTERNAL, "opencl: %s failed with %s", call,
              error_name(error));
}

std::string device_text(const Driver &cl, Handle device, uint32_t what) {
  size_t size = 0;
  if (cl.clGetDeviceInfo(device, what, 0, nullptr, &size) != success) return "";
  std::string text(size, '\0');
  cl.clGetDeviceInfo(device, what, size, &text[0], nullptr);
  return text.c_str();
}

namespace {

// The devices of all platforms, in the driver's order.
dg_status_t list_chips(const Driver &cl, std::vector<Chip> &chips) {
  uint32_t count = 0;
  int32_t error = cl.clGetPlatformIDs(0, nullptr, &count);
  if (error == platform_not_found || (error == success && count == 0))
    return fail(DG_STATUS_UNSUPPORTED,
                "opencl: wanted an OpenCL platform, found none; install an OpenCL runtime for the device (for CPUs "
                "pocl-opencl-icd), and see that /etc/OpenCL/vendors names it");
  std::vector<Handle> platforms(count);
  if (error == success) error = cl.clGetPlatformIDs(count, platforms.data(), nullptr);
  if (error != success) return check(error, "clGetPlatformIDs");
  for (const Handle platform : platforms) {
    uint32_t devices = 0;
    if (cl.clGetDeviceIDs(platform, all_device_types, 0, nullptr, &devices) != success) continue;  // has none
    std::vector<Handle> handles(devices);
    error = cl.clGetDeviceIDs(platform, all_device_types, devices, handles.data(), nullptr);
    if (error != success) return check(error, "clGetDeviceIDs");
    for (const Handle device : handles) chips.push_back({platform, device});
  }
  return DG_STATUS_OK;
}

dg_status_t initialize(const dg_host_t *, void **out_context) {
  const char *problem = nullptr;
  const Driver *cl = open_driver(&problem);
  if (!cl) return fail(DG_STATUS_UNSUPPORTED, "%s", problem);
  auto *context = new Context{cl, {}};
  const dg_status_t status = list_chips(*cl, context->chips);
  if (status == DG_STATUS_OK)
    *out_context = context;
  else
    delete context;
  return status;
}

void shutdown(void *context) { delete static_cast<Context *>(context); }

dg_status_t device_count(void *context, int32_t *out_count) {
  *out_count = int32_t(static_cast<Context *>(context)->chips.size());
  return DG_STATUS_OK;
}

const char *get_last_error(void *) { return error_text; }

// ---- Devices: opened twice it is one object, counted twice --------------------------------------------------------

std::mutex devices_mutex;
std::map<int32_t, dg_device *> open_devices;

void describe(dg_device &device) {
  const Driver &cl = device.cl;
  const Handle chip = device.chip.device;
  device.name = device_text(cl, chip, device_name);
  device.compiler_id =
      device_text(cl, chip, device_version) + ", " + device.name + ", driver " + device_text(cl, chip, driver_version);
  device.memory_total = device_info<uint64_t>(cl, chip, device_memory);
  device.largest_block = device_info<uint64_t>(cl, chip, device_max_alloc);
  device.alignment = std::max<uint64_t>(16, device_info<uint32_t>(cl, chip, device_alignment_bits) / 8);
}

dg_status_t open_new(const Context &context, int32_t index, dg_device_t **out_device) {
  const Driver &cl = *context.driver;
  const Chip chip = context.chips[size_t(index)];
  const intptr_t properties[] = {0x1084, reinterpret_cast<intptr_t>(chip.platform), 0};  // CL_CONTEXT_PLATFORM
  int32_t error = success;
  const Handle handle = cl.clCreateContext(properties, 1, &chip.device, nullptr, nullptr, &error);
  if (error != success) return check(error, "clCreateContext");
  const Handle queue = cl.clCreateCommandQueue(handle, chip.device, 0, &error);
  if (error != success) {
    cl.clReleaseContext(handle);
    return check(error, "clCreateCommandQueue");
  }
  auto *device = new dg_device{cl, chip, index};
  device->context = handle, device->own_queue = queue;
  describe(*device);
  *out_device = open_devices[index] = device;
  return DG_STATUS_OK;
}

dg_status_t device_create(void *opaque, int32_t index, dg_device_t **out_device) {
  const Context &context = *static_cast<Context *>(opaque);
  if (index < 0 || size_t(index) >= context.chips.size())
    return fail(DG_STATUS_INVALID_ARGUMENT, "opencl: device %d was asked for; there are %zu", index,
                context.chips.size());
  const std::lock_guard<std::mutex> guard(devices_mutex);
  const auto found = open_devices.find(index);
  if (found == open_devices.end()) return open_new(context, index, out_device);
  ++found->second->references;
  *out_device = found->second;
  return DG_STATUS_OK;
}

void device_destroy(dg_device_t *device) {
  const std::lock_guard<std::mutex> guard(devices_mutex);
  if (--device->references > 0) return;
  open_devices.erase(device->index);
  device->cl.clReleaseCommandQueue(device->own_queue);
  device->cl.clReleaseContext(device->context);
  delete device;
}

template <class T>
void set(dg_device_properties_t *properties, T *field, T value) {
  const char *end = reinterpret_cast<const char *>(field + 1);
  if (end <= reinterpret_cast<const char *>(properties) + properties->struct_size) *field = value;
}

dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *out) {
  set(out, &out->name, device->name.c_str());
  set(out, &out->architecture, device->name.c_str());
  set<uint64_t>(out, &out->capabilities, DG_DEVICE_OPAQUE_MEMORY | DG_DEVICE_DETERMINISTIC);
  set(out, &out->memory_total, device->memory_total);
  set(out, &out->alignment, device->alignment);
  set(out, &out->compute_units, int32_t(device_info<uint32_t>(device->cl, device->chip.device, device_units)));
  set<int32_t>(out, &out->dlpack_device_type, 4);  // kDLOpenCL
  return DG_STATUS_OK;
}

dg_device_api_t make_device_api() {
  dg_device_api_t api{};
  api.struct_size = sizeof api;
  api.device_create = device_create;
  api.device_destroy = device_destroy;
  api.device_get_properties = device_get_properties;
  api.device_synchronize = device_synchronize;
  api.memory_allocate = memory_allocate;
  api.memory_free = memory_free;
  api.memory_get_info = memory_get_info;
  api.copy_host_to_device = copy_host_to_device;
  api.copy_device_to_host = copy_device_to_host;
  api.copy_device_to_device = copy_device_to_device;
  api.memory_fill = memory_fill;
  api.stream_create = stream_create;
  api.stream_destroy = stream_destroy;
  api.stream_query = stream_query;
  api.stream_synchronize = stream_synchronize;
  api.stream_wait_event = stream_wait_event;
  api.stream_add_callback = stream_add_callback;
  api.event_create = event_create;
  api.event_destroy = event_destroy;
  api.event_record = event_record;
  api.event_query = event_query;
  api.event_synchronize = event_synchronize;
  api.event_elapsed = event_elapsed;
  return api;
}

const void *get_extension(void *, const char *id) {
  return std::strcmp(id, DG_EXTENSION_COMPILER) == 0 ? &compiler_api : nullptr;
}

const dg_device_api_t device_api = make_device_api();

const dg_plugin_t plugin = {sizeof(dg_plugin_t), DG_ABI_VERSION, 0,           "opencl",
                            DG_OPENCL_VERSION,   "dougong",      initialize,  shutdown,
                            device_count,        get_last_error, &device_api, get_extension};

}  // namespace
}  // namespace opencl

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &opencl::plugin; }
