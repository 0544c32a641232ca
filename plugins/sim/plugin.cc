// The simulated accelerator: an asynchronous device without hardware.
// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <cstring>

#include "cpu/error.h"
#include "cpu/gemm.h"
#include "cpu/isa.h"
#include "slots.h"

namespace sim::plugin {

Context::~Context() {
  for (const auto &device : open) device.second->engine = nullptr;
}

dg_status_t begin(dg_device_t *device, const char *slot, Fault *out_fault) {
  dg_status_t status = check_process();
  if (status == DG_STATUS_OK) status = device->engine->check();
  if (status != DG_STATUS_OK) return status;
  const Fault fault = device->context.faults.next(slot);
  if (out_fault) *out_fault = fault;
  if (fault.kind != Fault::call) return DG_STATUS_OK;
  fail(fault.status, "sim:%d: a planned fault of %s", device->index, slot);
  if (fault.status == DG_STATUS_DEVICE_LOST) device->engine->lose(last_error());
  return fault.status;
}

dg_status_t queue_of(dg_device_t *device, dg_stream_t *stream, Queue **out_queue) {
  *out_queue = stream ? stream->queue.get() : device->own_queue.get();
  if (*out_queue) return DG_STATUS_OK;
  return fail(DG_STATUS_INVALID_ARGUMENT, "sim:%d: the stream is null; this device has streams: make one",
              device->index);
}

dg_status_t finish(Queue &queue, dg_stream_t *stream) {
  return stream ? dg_status_t(DG_STATUS_OK) : queue.synchronize();
}

namespace {

// ---- The device ---------------------------------------------------------------------------------------------------

dg_status_t open_new(Context &context, int32_t index, dg_device_t **out_device) {
  std::unique_ptr<dg_device> device(new dg_device{context, index, 1, {}, nullptr, nullptr});
  device->name = "Simulated accelerator " + std::to_string(index);
  DeviceOptions options = context.options.device;
  options.delays.seed += uint64_t(index) << 32;
  const dg_status_t status = Device::create(options, &device->engine);
  if (status != DG_STATUS_OK) return status;
  if (context.options.no_streams) device->own_queue = device->engine->make_queue();
  *out_device = context.open[index] = device.release();
  return DG_STATUS_OK;
}

dg_status_t device_create(void *opaque, int32_t index, dg_device_t **out_device) {
  Context &context = *static_cast<Context *>(opaque);
  const dg_status_t status = check_process();
  if (status != DG_STATUS_OK) return status;
  if (index < 0 || uint64_t(index) >= context.options.device_count)
    return fail(DG_STATUS_INVALID_ARGUMENT, "sim: device %d was asked for; there are %llu, set by DOUGONG_SIM_DEVICES",
                index, static_cast<unsigned long long>(context.options.device_count));
  const Fault fault = context.faults.next("device_create");
  if (fault.kind == Fault::call) return fail(fault.status, "sim:%d: a planned fault of device_create", index);
  const std::lock_guard<std::mutex> guard(context.mutex);
  const auto open = context.open.find(index);
  if (open == context.open.end()) return open_new(context, index, out_device);
  ++open->second->references;
  *out_device = open->second;
  return DG_STATUS_OK;
}

void device_destroy(dg_device_t *device) {
  if (check_process() != DG_STATUS_OK) return;
  const std::lock_guard<std::mutex> guard(device->context.mutex);
  if (--device->references > 0) return;
  device->context.open.erase(device->index);
  delete device;
}

// Writes a field if the host's struct is long enough to have it.
template <class T>
void set(dg_device_properties_t *properties, T *field, T value) {
  const char *end = reinterpret_cast<const char *>(field + 1);
  if (end <= reinterpret_cast<const char *>(properties) + properties->struct_size) *field = value;
}

constexpr dg_dtype_t all_but_fp64[] = {
    DG_DTYPE_FLOAT32, DG_DTYPE_FLOAT16,       DG_DTYPE_BFLOAT16,    DG_DTYPE_INT8,
    DG_DTYPE_INT16,   DG_DTYPE_INT32,         DG_DTYPE_INT64,       DG_DTYPE_UINT8,
    DG_DTYPE_UINT16,  DG_DTYPE_UINT32,        DG_DTYPE_UINT64,      DG_DTYPE_COMPLEX64,
    DG_DTYPE_BOOL,    DG_DTYPE_FLOAT8_E4M3FN, DG_DTYPE_FLOAT8_E5M2, DG_DTYPE_NONE};

dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *out) {
  const Options &options = device->context.options;
  const Arena::Options &memory = options.device.memory;
  const uint64_t opaque = memory.opaque ? DG_DEVICE_OPAQUE_MEMORY : 0;
  set(out, &out->name, device->name.c_str());
  set<const char *>(out, &out->architecture, "sim");
  set<uint64_t>(out, &out->capabilities, DG_DEVICE_DETERMINISTIC | opaque);
  set<uint64_t>(out, &out->memory_total, memory.capacity);
  set<uint64_t>(out, &out->alignment, memory.alignment);
  set(out, &out->dtypes, options.no_fp64 ? all_but_fp64 : nullptr);
  set<int32_t>(out, &out->compute_units, 1);
  set<int32_t>(out, &out->lowest_priority, -1);
  set<int32_t>(out, &out->highest_priority, 1);
  return DG_STATUS_OK;
}

// A lost device too is waited for, so that what its workers use may be given back.
dg_status_t device_synchronize(dg_device_t *device) {
  dg_status_t status = check_process();
  if (status != DG_STATUS_OK) return status;
  status = device->engine->synchronize();
  return status == DG_STATUS_OK ? begin(device, "device_synchronize") : status;
}

dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  *out_kernels = device->context.kernels->table();
  *out_count = device->context.kernels->count();
  return DG_STATUS_OK;
}

// ---- The tables ---------------------------------------------------------------------------------------------------

void add_streams(dg_device_api_t *api) {
  api->stream_create = Guarded<stream_create>::call;
  api->stream_destroy = Guarded<stream_destroy>::call;
  api->stream_query = Guarded<stream_query>::call;
  api->stream_synchronize = Guarded<stream_synchronize>::call;
  api->stream_add_callback = Guarded<stream_add_callback>::call;
}

void add_events(dg_device_api_t *api) {
  api->stream_wait_event = Guarded<stream_wait_event>::call;
  api->event_create = Guarded<event_create>::call;
  api->event_destroy = Guarded<event_destroy>::call;
  api->event_record = Guarded<event_record>::call;
  api->event_query = Guarded<event_query>::call;
  api->event_synchronize = Guarded<event_synchronize>::call;
  api->event_elapsed = Guarded<event_elapsed>::call;
}

dg_device_api_t make_device_api(bool streams, bool events) {
  dg_device_api_t api{};
  api.struct_size = sizeof(dg_device_api_t);
  api.device_create = Guarded<device_create>::call;
  api.device_destroy = device_destroy;
  api.device_get_properties = Guarded<device_get_properties>::call;
  api.device_synchronize = Guarded<device_synchronize>::call;
  api.memory_allocate = Guarded<memory_allocate>::call;
  api.memory_free = Guarded<memory_free>::call;
  api.memory_get_info = Guarded<memory_get_info>::call;
  api.copy_host_to_device = Guarded<copy_host_to_device>::call;
  api.copy_device_to_host = Guarded<copy_device_to_host>::call;
  api.copy_device_to_device = Guarded<copy_device_to_device>::call;
  api.copy_peer = Guarded<copy_peer>::call;
  api.memory_fill = Guarded<memory_fill>::call;
  if (streams) add_streams(&api);
  if (streams && events) add_events(&api);
  api.device_get_kernels = Guarded<device_get_kernels>::call;
  return api;
}

// Which slots there are is decided when the library is asked for its table, before initialize. A wrong environment is
// told by initialize.
struct Shape {
  Options options;
  Shape() { read_options(&options); }
};
const Shape &shape() {
  static const Shape the_shape;
  return the_shape;
}

dg_status_t read_environment(Context *context) {
  dg_status_t status = read_options(&context->options);
  if (status == DG_STATUS_OK) status = read_faults(&context->faults);
  if (status != DG_STATUS_OK) return status;
  const Options &now = context->options, &then = shape().options;
  if (now.no_streams != then.no_streams || now.no_events != then.no_events)
    return fail(DG_STATUS_INVALID_ARGUMENT,
                "sim: DOUGONG_SIM_QUIRKS changed after the library was loaded: set no_streams and no_events before");
  return DG_STATUS_OK;
}

dg_status_t initialize(const dg_host_t *, void **out_context) {
  auto context = std::make_unique<Context>();
  dg_status_t status = read_environment(context.get());
  if (status != DG_STATUS_OK) return status;
  dougong::cpu::detect_isa();
  status = dougong::cpu::configure_threads();
  if (status != DG_STATUS_OK) return fail(status, "%s", dougong::cpu::last_error());
  context->kernels = std::make_unique<Kernels>(context->options);
  *out_context = context.release();
  return DG_STATUS_OK;
}

void shutdown(void *context) {
  if (check_process() == DG_STATUS_OK) delete static_cast<Context *>(context);
}

dg_status_t device_count(void *context, int32_t *out_count) {
  *out_count = int32_t(static_cast<Context *>(context)->options.device_count);
  return DG_STATUS_OK;
}

const char *get_last_error(void *) { return last_error(); }

const dg_device_api_t &device_api() {
  static const dg_device_api_t api = make_device_api(!shape().options.no_streams, !shape().options.no_events);
  return api;
}

dg_plugin_t make_plugin() {
  dg_plugin_t plugin{};
  plugin.struct_size = sizeof(dg_plugin_t);
  plugin.abi_version = DG_ABI_VERSION;
  plugin.name = "sim";
  plugin.version = DG_SIM_VERSION;
  plugin.vendor = "dougong";
  plugin.initialize = Guarded<initialize>::call;
  plugin.shutdown = shutdown;
  plugin.device_count = device_count;
  plugin.get_last_error = get_last_error;
  plugin.device = &device_api();
  return plugin;
}

}  // namespace
}  // namespace sim::plugin

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) {
  static const dg_plugin_t plugin = sim::plugin::make_plugin();
  return &plugin;
}
