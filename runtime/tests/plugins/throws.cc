// A plugin that breaks the first rule: it lets a C++ exception out of initialize.
// SPDX-License-Identifier: Apache-2.0
#include <dougong/dg_device.h>

#include <stdexcept>

namespace {

dg_status_t initialize(const dg_host_t *, void **) { throw std::runtime_error("driver 42"); }
dg_status_t any_slot() { return DG_STATUS_INTERNAL; }
template <class Slot>
void set(Slot &slot) {
  slot = reinterpret_cast<Slot>(any_slot);
}

dg_device_api_t make_api() {
  dg_device_api_t api{};
  api.struct_size = sizeof api;
  set(api.device_create);
  set(api.device_destroy);
  set(api.device_get_properties);
  set(api.memory_allocate);
  set(api.memory_free);
  set(api.copy_host_to_device);
  set(api.copy_device_to_host);
  return api;
}
const dg_device_api_t api = make_api();

dg_plugin_t make_plugin() {
  dg_plugin_t plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = DG_ABI_VERSION;
  plugin.name = "throws";
  plugin.version = "1.0";
  plugin.initialize = initialize;
  set(plugin.device_count);
  plugin.device = &api;
  return plugin;
}
const dg_plugin_t plugin = make_plugin();

}  // namespace

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
