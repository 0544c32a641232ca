/* A plugin with some of another one's kernels: BASE is that one's path, the environment variable DG_SUBSET the ops. */
#include <dlfcn.h>
#include <dougong/dg_device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_device_api_t device_api;
static dg_plugin_t plugin;
static const dg_device_api_t *base;

static int listed(const char *op) {
  const char *list = getenv("DG_SUBSET");
  const size_t length = strlen(op);
  while (list && *list) {
    const char *end = strchr(list, ',');
    const size_t size = end ? (size_t)(end - list) : strlen(list);
    if (size == length && memcmp(list, op, length) == 0) return 1;
    list = end ? end + 1 : list + size;
  }
  return 0;
}

static dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  static const dg_kernel_t *chosen[1024];
  const dg_kernel_t *const *kernels;
  size_t count, found = 0;
  const dg_status_t status = base->device_get_kernels(device, &kernels, &count);
  for (size_t i = 0; status == DG_STATUS_OK && i < count && found < 1024; ++i)
    if (listed(kernels[i]->op)) chosen[found++] = kernels[i];
  *out_kernels = chosen;
  *out_count = found;
  return status;
}

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) {
  void *library = dlopen(BASE, RTLD_NOW | RTLD_LOCAL);
  const dg_plugin_entry_v1_t entry = library ? (dg_plugin_entry_v1_t)dlsym(library, "dg_plugin_entry_v1") : NULL;
  if (!entry) {
    fprintf(stderr, "subset: no plugin at %s: %s\n", BASE, dlerror());
    abort();
  }
  plugin = *entry();
  base = plugin.device;
  device_api = *base;
  device_api.device_get_kernels = device_get_kernels;
  plugin.name = "subset";
  plugin.device = &device_api;
  return &plugin;
}
