/* A plugin with some of the CPU plugin's kernels: BASE is that one's path, the environment variable DG_SUBSET the ops,
 * separated by commas. Device 0 has all of them, device i lacks the i-th. */
#include <dlfcn.h>
#include <dougong/dg_device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 256

/* The base looks at no device handle: a number will do. */
struct dg_device {
  const dg_kernel_t *kernels[LIMIT];
  size_t count;
};

static struct dg_device devices[LIMIT];
static dg_device_api_t device_api;
static dg_plugin_t plugin;
static const dg_device_api_t *base;

/* The place of an op in the list, from 1; 0 if it is not there. */
static int place(const char *op) {
  const char *list = getenv("DG_SUBSET");
  for (int i = 1; list && *list; ++i) {
    const size_t length = strcspn(list, ",");
    if (strlen(op) == length && memcmp(list, op, length) == 0) return i;
    list += length + (list[length] == ',');
  }
  return 0;
}

static dg_status_t device_count(void *context, int32_t *out_count) {
  const char *list = getenv("DG_SUBSET");
  (void)context;
  *out_count = 1;
  for (; list && *list; ++list) *out_count += *list == ',' || list[1] == 0;
  return DG_STATUS_OK;
}

static dg_status_t device_create(void *context, int32_t index, dg_device_t **out_device) {
  struct dg_device *device = &devices[index];
  const dg_kernel_t *const *all;
  dg_device_t *first;
  size_t count = 0;
  dg_status_t status = base->device_create(context, 0, &first);
  if (status == DG_STATUS_OK) status = base->device_get_kernels(first, &all, &count);
  device->count = 0;
  for (size_t i = 0; i < count && device->count < LIMIT; ++i) {
    const int at = place(all[i]->op);
    if (at && at != index) device->kernels[device->count++] = all[i];
  }
  *out_device = device;
  return status;
}

static dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  *out_kernels = device->kernels;
  *out_count = device->count;
  return DG_STATUS_OK;
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
  device_api.device_create = device_create;
  device_api.device_get_kernels = device_get_kernels;
  plugin.name = "subset";
  plugin.device_count = device_count;
  plugin.device = &device_api;
  return &plugin;
}
