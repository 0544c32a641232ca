/* dougong device API: kernels.
 *
 * One call signature serves every op. What an op means, its inputs and outputs, is in its page of docs/ops.md; its
 * name and its attribute struct are in dg_ops.h. A plugin lists its kernels in plain static tables:
 *
 *     static dg_status_t relu_launch(const dg_kernel_call_t *call) { ... }
 *     static const dg_dtype_t floats[] = {DG_DTYPE_FLOAT32, DG_DTYPE_NONE};
 *     static const dg_kernel_t relu = {.struct_size = sizeof(dg_kernel_t), .op = DG_OP_RELU, .types = {floats},
 *                                      .launch = relu_launch};
 *     static const dg_kernel_t *const kernels[] = {&relu};
 *
 * A kernel sees only what it declared [KRN-001]: the host casts, copies to dense memory or to an aligned place, and
 * broadcasts before the call, or goes down the ladder: another kernel, a generated one, a decomposition, the CPU. Every
 * such step is counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_DG_KERNEL_H
#define DOUGONG_DG_KERNEL_H

#include "dg_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_device dg_device_t;
typedef struct dg_stream dg_stream_t;

/* The most type variables that an op has (T, U, V in its page). */
#define DG_KERNEL_MAX_TYPES 3

/* Flags of a kernel. Without any of them a kernel gets dense row-major tensors, and outputs apart from the inputs. */
enum {
  /* Inputs and outputs may have any strides; the strides of an input may be zero (broadcast) or negative. */
  DG_KERNEL_STRIDED = 1,
  /* An output may be the same memory, with the same strides, as an input of the same dtype and shape. */
  DG_KERNEL_IN_PLACE = 2,
  /* The same inputs give the same bits, each time. */
  DG_KERNEL_DETERMINISTIC = 4
};

/* One launch. The host owns everything in it; pointers are valid during the call, device memory until the stream has
 * passed. */
typedef struct dg_kernel_call_t {
  size_t struct_size;
  dg_device_t *device;
  dg_stream_t *stream; /* null on a synchronous device                                                               */

  /* In the order of the op's page. An optional input that was left out is a null pointer, and
   * so is an output that is an alias of it. Elementwise inputs come with
   * the shape of the output: broadcast axes have stride zero, or were filled for a dense-only kernel. An output that
   * the op's page calls an alias of an input is the same memory, for every kernel. */
  const dg_tensor_t *const *inputs;
  const dg_tensor_t *const *outputs; /* the descriptors are const; what they describe is written                     */
  int32_t input_count;
  int32_t output_count;

  /* The op's dg_<op>_attributes_t, which begins with its struct_size, or null if the op has none. Axes are normalised:
   * 0 <= axis < ndim, no duplicates, ascending. */
  const void *attributes;

  /* Device memory for the kernel's own use, as much as `plan` asked for: content undefined on entry, aligned as an
   * allocation. Null and 0 if the kernel has no plan. */
  void *workspace;
  uint64_t workspace_offset;
  uint64_t workspace_size;

  void *plan;      /* what `plan` made for a call of the same shapes, strides, dtypes and attributes, or null        */
  void *user_data; /* dg_kernel_t.user_data                                                                          */
} dg_kernel_call_t;

typedef struct dg_kernel_t {
  size_t struct_size;
  const char *op; /* the op's name, DG_OP_* of dg_ops.h. (required)                                                  */

  /* For each type variable of the op, in the order of its page: the dtypes accepted, ended by DG_DTYPE_NONE. Null means
   * all that the op allows. */
  const dg_dtype_t *types[DG_KERNEL_MAX_TYPES];

  uint32_t flags;     /* DG_KERNEL_* bits                                                                            */
  uint32_t alignment; /* bytes: every tensor begins at a multiple of it. Zero means its element size                 */
  void *user_data;    /* passed back in each call                                                                    */

  /* Queues the kernel on call->stream, or runs it on a synchronous device. It writes every element of every output, and
   * nothing else. DG_STATUS_UNSUPPORTED before anything was written sends the call down the ladder. Descriptors and
   * attributes are read before it returns. Tensors of zero elements may arrive when the op's result is not empty.
   * [one thread per stream] (required) */
  dg_status_t (*launch)(const dg_kernel_call_t *call);

  /* Prepares calls of these shapes, strides, dtypes and attributes: how many bytes of workspace they need, and an
   * object to reuse, or null. `data` of the tensors may be null here. The host keeps the plan for later calls that
   * differ in nothing but addresses and offsets, and may use it from several threads. DG_STATUS_UNSUPPORTED sends the
   * call down the ladder. [any thread] (optional: null means no workspace and no plan) */
  dg_status_t (*plan)(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan);

  /* Gives a plan back, when no work uses it any more. [any thread] (required where `plan` makes objects) */
  void (*plan_destroy)(void *user_data, void *plan);
} dg_kernel_t;

#ifdef __cplusplus
}
#endif
#endif
