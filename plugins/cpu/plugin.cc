// The CPU plugin: host memory, a synchronous core, every op native.
// SPDX-License-Identifier: Apache-2.0
#include <dougong/dg_device.h>

#include "error.h"
#include "gemm.h"
#include "isa.h"
#include "kernel_table.h"
#include "memory.h"

struct dg_device {};

namespace dougong::cpu {
namespace {

dg_device_t the_device;

dg_status_t initialize(const dg_host_t *, void **out_context) {
  detect_isa();
  dg_status_t status = configure_threads();
  if (status == DG_STATUS_OK) *out_context = nullptr;
  return status;
}

dg_status_t device_count(void *, int32_t *out_count) {
  *out_count = 1;
  return DG_STATUS_OK;
}

const char *get_last_error(void *) { return last_error(); }

dg_status_t device_create(void *, int32_t index, dg_device_t **out_device) {
  if (index != 0) return fail(DG_STATUS_INVALID_ARGUMENT, "cpu: device %d was asked for; there is one, cpu:0", index);
  *out_device = &the_device;
  return DG_STATUS_OK;
}

void device_destroy(dg_device_t *) {}

// Writes a field if the host's struct is long enough to have it.
template <class T>
void set(dg_device_properties_t *properties, T *field, T value) {
  const char *end = reinterpret_cast<const char *>(field + 1);
  if (end <= reinterpret_cast<const char *>(properties) + properties->struct_size) *field = value;
}

dg_status_t device_get_properties(dg_device_t *, dg_device_properties_t *out) {
  const char *architectures[] = {"baseline", "avx2", "avx512"};
  set<const char *>(out, &out->name, "Host CPU");
  set(out, &out->architecture, architectures[int(current_isa)]);
  set<uint64_t>(out, &out->capabilities, DG_DEVICE_HOST_ACCESSIBLE | DG_DEVICE_DETERMINISTIC | DG_DEVICE_CONCURRENT);
  set<uint64_t>(out, &out->memory_total, host_memory().total);
  set<uint64_t>(out, &out->alignment, memory_alignment);
  set<int32_t>(out, &out->compute_units, thread_count());
  set<int32_t>(out, &out->dlpack_device_type, 1);  // kDLCPU
  return DG_STATUS_OK;
}

dg_status_t device_synchronize(dg_device_t *) { return DG_STATUS_OK; }

dg_status_t device_get_kernels(dg_device_t *, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  *out_kernels = kernel_table;
  *out_count = kernel_count;
  return DG_STATUS_OK;
}

// A synchronous device: the slots of streams and events stay null.
constexpr dg_device_api_t make_device_api() {
  dg_device_api_t api{};
  api.struct_size = sizeof(dg_device_api_t);
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
  api.device_get_kernels = device_get_kernels;
  return api;
}
constexpr dg_device_api_t device_api = make_device_api();

constexpr dg_plugin_t make_plugin() {
  dg_plugin_t plugin{};
  plugin.struct_size = sizeof(dg_plugin_t);
  plugin.abi_version = DG_ABI_VERSION;
  plugin.name = "cpu";
  plugin.version = DG_CPU_VERSION;
  plugin.vendor = "dougong";
  plugin.initialize = initialize;
  plugin.device_count = device_count;
  plugin.get_last_error = get_last_error;
  plugin.device = &device_api;
  return plugin;
}
constexpr dg_plugin_t plugin = make_plugin();

}  // namespace
}  // namespace dougong::cpu

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &dougong::cpu::plugin; }
