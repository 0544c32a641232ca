/* A synchronous plugin whose few kernels are particular about what they take: the runtime must repair or go elsewhere.
 *
 *   add      float32, dense memory only, outputs apart from the inputs
 *   mul      float32, any strides, in place
 *   sub      float32, dense, begins at a multiple of 64 bytes
 *   relu     says UNSUPPORTED for more than four elements
 *   neg      fails
 *   softmax  float32, with a plan and a workspace
 *   add, mul and sub check that they get what they declared, and fail if not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <dougong/dg_ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dg_device {
  int index;
};
static struct dg_device devices[2] = {{0}, {1}};
static const char *sentence = "";
static long launches[8], plans;

DG_EXPORT long kernels_launches(int kernel) { return launches[kernel]; } /* add 0, mul 1, sub 2, relu 3, softmax 4 */
DG_EXPORT long kernels_plans(void) { return plans; }

static dg_status_t fail(dg_status_t status, const char *text) {
  sentence = text;
  return status;
}
static const char *get_last_error(void *context) {
  (void)context;
  return sentence;
}

static float *at(const dg_tensor_t *tensor) { return (float *)((char *)tensor->data + tensor->byte_offset); }

static int64_t count(const dg_tensor_t *tensor) {
  int64_t n = 1;
  for (int i = 0; i < tensor->ndim; ++i) n *= tensor->shape[i];
  return n;
}

static int dense(const dg_tensor_t *tensor) {
  int64_t step = 1;
  for (int i = tensor->ndim - 1; i >= 0; --i) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != step) return 0;
    step *= tensor->shape[i];
  }
  return 1;
}

static int well_formed(const dg_kernel_call_t *call) {
  for (int i = 0; i < call->input_count; ++i)
    if (call->inputs[i]->dtype != DG_DTYPE_FLOAT32 || call->inputs[i]->ndim != call->outputs[0]->ndim) return 0;
  return call->outputs[0]->dtype == DG_DTYPE_FLOAT32;
}

static dg_status_t add(const dg_kernel_call_t *call) {
  const dg_tensor_t *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  ++launches[0];
  if (!well_formed(call) || !dense(a) || !dense(b) || !dense(y)) return fail(DG_STATUS_INTERNAL, "add: not dense");
  if (at(y) == at(a) || at(y) == at(b)) return fail(DG_STATUS_INTERNAL, "add: in place");
  for (int64_t i = 0; i < count(y); ++i) at(y)[i] = at(a)[i] + at(b)[i];
  return DG_STATUS_OK;
}

static void multiply(const dg_tensor_t *a, const dg_tensor_t *b, const dg_tensor_t *y, int axis, int64_t pa, int64_t pb,
                     int64_t py) {
  if (axis == y->ndim) {
    at(y)[py] = at(a)[pa] * at(b)[pb];
    return;
  }
  for (int64_t i = 0; i < y->shape[axis]; ++i)
    multiply(a, b, y, axis + 1, pa + i * a->strides[axis], pb + i * b->strides[axis], py + i * y->strides[axis]);
}

static dg_status_t mul(const dg_kernel_call_t *call) {
  ++launches[1];
  if (!well_formed(call)) return fail(DG_STATUS_INTERNAL, "mul: not float32, or not broadcast");
  multiply(call->inputs[0], call->inputs[1], call->outputs[0], 0, 0, 0, 0);
  return DG_STATUS_OK;
}

static dg_status_t sub(const dg_kernel_call_t *call) {
  const dg_tensor_t *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  ++launches[2];
  if ((a->byte_offset | b->byte_offset | y->byte_offset) % 64) return fail(DG_STATUS_INTERNAL, "sub: not aligned");
  if (!well_formed(call) || !dense(a) || !dense(b) || !dense(y)) return fail(DG_STATUS_INTERNAL, "sub: not dense");
  for (int64_t i = 0; i < count(y); ++i) at(y)[i] = at(a)[i] - at(b)[i];
  return DG_STATUS_OK;
}

static dg_status_t relu(const dg_kernel_call_t *call) {
  ++launches[3];
  if (count(call->outputs[0]) > 4) return DG_STATUS_UNSUPPORTED;
  for (int64_t i = 0; i < count(call->outputs[0]); ++i)
    at(call->outputs[0])[i] = at(call->inputs[0])[i] > 0 ? at(call->inputs[0])[i] : 0;
  return DG_STATUS_OK;
}

static dg_status_t neg(const dg_kernel_call_t *call) {
  (void)call;
  return fail(DG_STATUS_INTERNAL, "the chip caught fire");
}

static dg_status_t softmax_plan(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan) {
  const dg_softmax_attributes_t *attributes = call->attributes;
  if (attributes->axis != call->inputs[0]->ndim - 1) return DG_STATUS_UNSUPPORTED;
  ++plans;
  *out_workspace_size = sizeof(float) * (uint64_t)call->inputs[0]->shape[attributes->axis];
  *out_plan = malloc(sizeof(int64_t));
  *(int64_t *)*out_plan = call->inputs[0]->shape[attributes->axis];
  return DG_STATUS_OK;
}

static void softmax_plan_destroy(void *user_data, void *plan) {
  (void)user_data;
  free(plan);
}

static dg_status_t softmax(const dg_kernel_call_t *call) {
  const int64_t width = *(int64_t *)call->plan;
  float *scratch = (float *)((char *)call->workspace + call->workspace_offset);
  ++launches[4];
  if (call->workspace_size < sizeof(float) * (uint64_t)width) return fail(DG_STATUS_INTERNAL, "softmax: no workspace");
  for (int64_t row = 0; row < count(call->inputs[0]); row += width) {
    const float *x = at(call->inputs[0]) + row;
    float top = x[0], sum = 0;
    for (int64_t i = 1; i < width; ++i) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < width; ++i) sum += scratch[i] = expf(x[i] - top);
    for (int64_t i = 0; i < width; ++i) at(call->outputs[0])[row + i] = scratch[i] / sum;
  }
  return DG_STATUS_OK;
}

#define KERNEL(name, flags, alignment) \
  static const dg_kernel_t name##_kernel = {sizeof(dg_kernel_t), #name, {float32}, flags, alignment, 0, name, 0, 0}
static const dg_dtype_t float32[] = {DG_DTYPE_FLOAT32, DG_DTYPE_NONE};
KERNEL(add, 0, 0);
KERNEL(mul, DG_KERNEL_STRIDED | DG_KERNEL_IN_PLACE, 0);
KERNEL(sub, DG_KERNEL_IN_PLACE, 64);
KERNEL(relu, 0, 0);
KERNEL(neg, 0, 0);
static const dg_kernel_t softmax_kernel = {sizeof(dg_kernel_t), "softmax",           {float32}, 0, 0, 0, softmax,
                                           softmax_plan,        softmax_plan_destroy};
static const dg_kernel_t *const kernels[] = {&add_kernel,  &mul_kernel, &sub_kernel,
                                             &relu_kernel, &neg_kernel, &softmax_kernel};

static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  (void)host;
  *out_context = devices;
  return DG_STATUS_OK;
}
static dg_status_t device_count(void *context, int32_t *out_count) {
  (void)context;
  *out_count = 2;
  return DG_STATUS_OK;
}
static dg_status_t device_create(void *context, int32_t index, dg_device_t **out_device) {
  (void)context;
  *out_device = &devices[index];
  return DG_STATUS_OK;
}
static void device_destroy(dg_device_t *device) { (void)device; }
static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *p) {
  (void)device;
  p->name = "Particular";
  p->alignment = 64;
  return DG_STATUS_OK;
}
static dg_status_t device_get_kernels(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count) {
  (void)device;
  *out_kernels = kernels;
  *out_count = sizeof kernels / sizeof *kernels;
  return DG_STATUS_OK;
}
static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  (void)device;
  if (kind != DG_MEMORY_DEVICE) return DG_STATUS_UNSUPPORTED;
  return posix_memalign(out_handle, 64, size) == 0 ? DG_STATUS_OK : DG_STATUS_OUT_OF_MEMORY;
}
static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  (void)device;
  (void)kind;
  free(handle);
  return DG_STATUS_OK;
}
static dg_status_t copy_host_to_device(dg_device_t *device, void *to, size_t offset, const void *from, size_t size,
                                       dg_stream_t *stream) {
  (void)device;
  (void)stream;
  memcpy((char *)to + offset, from, size);
  return DG_STATUS_OK;
}
static dg_status_t copy_device_to_host(dg_device_t *device, void *to, const void *from, size_t offset, size_t size,
                                       dg_stream_t *stream) {
  (void)device;
  (void)stream;
  memcpy(to, (const char *)from + offset, size);
  return DG_STATUS_OK;
}

static const dg_device_api_t api = {
    .struct_size = sizeof(dg_device_api_t),
    .device_create = device_create,
    .device_destroy = device_destroy,
    .device_get_properties = device_get_properties,
    .device_get_kernels = device_get_kernels,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .copy_host_to_device = copy_host_to_device,
    .copy_device_to_host = copy_device_to_host,
};
static const dg_plugin_t plugin = {
    .struct_size = sizeof(dg_plugin_t),
    .abi_version = DG_ABI_VERSION,
    .name = "particular",
    .version = "1.0",
    .initialize = initialize,
    .device_count = device_count,
    .get_last_error = get_last_error,
    .device = &api,
};
DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void);
DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
