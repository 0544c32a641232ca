// The tables of a mutant: the base plugin's, with one fault put in.
//
// The library is copied once a fault, and its file name, libdg_mutant_<fault>.so, says which one it has; "none" has
// none. The path of the correct plugin is compiled in.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>

#include "mutant.h"

#ifndef MUTANT_BASE
#error "MUTANT_BASE: the path of the correct plugin"
#endif

namespace mutant {
namespace {

// The part of a table that both sides know; the rest null.
template <class Table>
Table prefix(const Table *from) {
  Table copy = {};
  std::memcpy(static_cast<void *>(&copy), from, std::min(sizeof copy, from->struct_size));
  copy.struct_size = sizeof copy;
  return copy;
}

Base load_base() {
  void *library = dlopen(MUTANT_BASE, RTLD_NOW | RTLD_LOCAL);
  void *entry = library ? dlsym(library, "dg_plugin_entry_v1") : nullptr;
  if (!entry) {
    std::fprintf(stderr, "mutant: no correct plugin at %s: %s\n", MUTANT_BASE, dlerror());
    std::abort();
  }
  const dg_plugin_t *plugin = reinterpret_cast<dg_plugin_entry_v1_t>(entry)();
  return {prefix(plugin), prefix(plugin->device)};
}

// "mutant_<fault>", from the name of this file.
std::string own_name() {
  static const char here = 0;
  Dl_info info = {};
  dladdr(&here, &info);
  std::string path = info.dli_fname ? info.dli_fname : "";
  path = path.substr(path.find_last_of('/') + 1);
  const size_t begin = std::strlen("libdg_"), end = path.rfind(".so");
  return path.compare(0, begin, "libdg_") == 0 && end != std::string::npos ? path.substr(begin, end - begin) : path;
}

const Fault *find_fault(const std::string &name) {
  for (const Fault *table :
       {layout_faults, number_faults, gradient_faults, contract_faults, plan_faults, memory_faults, stream_faults}) {
    for (; table->name; ++table) {
      if (name == std::string("mutant_") + table->name) return table;
    }
  }
  if (name == "mutant_none") return nullptr;
  std::fprintf(stderr, "mutant: there is no fault for the name %s\n", name.c_str());
  std::abort();
}

Launch chosen_launch = nullptr;
uint64_t chosen_workspace = 0;

// A kernel of the mutant: the base's entry with the launch in between.
struct Entry {
  dg_kernel_t table;
  dg_kernel_t original;
};

dg_kernel_call_t unwrap(const dg_kernel_call_t *call, const Entry **out_entry) {
  *out_entry = static_cast<const Entry *>(call->user_data);
  dg_kernel_call_t copy = {};
  std::memcpy(&copy, call, std::min(sizeof copy, call->struct_size));
  copy.struct_size = sizeof copy;
  copy.user_data = (*out_entry)->original.user_data;
  return copy;
}

dg_status_t launch(const dg_kernel_call_t *call) {
  const Entry *entry = nullptr;
  const dg_kernel_call_t unwrapped = unwrap(call, &entry);
  return chosen_launch ? chosen_launch(entry->original, unwrapped) : forward(entry->original, unwrapped);
}

dg_status_t plan(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan) {
  const Entry *entry = nullptr;
  const dg_kernel_call_t unwrapped = unwrap(call, &entry);
  return entry->original.plan(&unwrapped, out_workspace_size, out_plan);
}

void plan_destroy(void *user_data, void *plan) {
  const Entry *entry = static_cast<const Entry *>(user_data);
  entry->original.plan_destroy(entry->original.user_data, plan);
}

// The plan of a kernel that had none: an object that counts its launches.
dg_status_t own_plan(const dg_kernel_call_t *, uint64_t *out_workspace_size, void **out_plan) {
  *out_workspace_size = chosen_workspace;
  *out_plan = new uint64_t(0);
  return DG_STATUS_OK;
}

void own_plan_destroy(void *, void *plan) { delete static_cast<uint64_t *>(plan); }

void choose_plan(dg_kernel_t &entry) {
  const bool own = !entry.plan && chosen_workspace;
  entry.plan = own ? own_plan : entry.plan ? plan : nullptr;
  entry.plan_destroy = own ? own_plan_destroy : entry.plan_destroy ? plan_destroy : nullptr;
}

struct KernelTable {
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<const dg_kernel_t *> pointers;
};

dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  static KernelTable table;
  static std::once_flag once;
  const dg_kernel_t *const *kernels = nullptr;
  size_t count = 0;
  const dg_status_t status = base().device.device_get_kernels(device, &kernels, &count);
  if (status != DG_STATUS_OK) return status;
  std::call_once(once, [&] {
    for (size_t i = 0; i < count; ++i) {
      table.entries.push_back(std::make_unique<Entry>(Entry{prefix(kernels[i]), prefix(kernels[i])}));
      dg_kernel_t &entry = table.entries.back()->table;
      entry.launch = launch;
      choose_plan(entry);
      entry.user_data = table.entries.back().get();
      table.pointers.push_back(&entry);
    }
  });
  *out_kernels = table.pointers.data();
  *out_count = table.pointers.size();
  return DG_STATUS_OK;
}

struct Tables {
  std::string name;
  dg_device_api_t device;
  dg_plugin_t plugin;

  Tables() : name(own_name()), device(base().device), plugin(base().plugin) {
    plugin.name = name.c_str();
    plugin.device = &device;
    if (device.device_get_kernels) device.device_get_kernels = mutant::device_get_kernels;
    const Fault *fault = find_fault(name);
    if (!fault) return;
    chosen_launch = fault->launch;
    chosen_workspace = fault->workspace;
    if (fault->install) fault->install(plugin, device);
  }
};

}  // namespace

const Base &base() {
  static const Base loaded = load_base();
  return loaded;
}

}  // namespace mutant

extern "C" DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) {
  static const mutant::Tables tables;
  return &tables.plugin;
}
