/* dougong device API, capability "dg.compiler/1": kernels from source or binary.
 *
 * A plugin gives the table out through dg_plugin_t.get_extension(DG_EXTENSION_COMPILER). The table grows at the end
 * only, as every struct of this API does.
 *
 * It is the second step of the ladder: an op for which a plugin has no kernel is generated in a language that the
 * plugin names here, compiled by it, and launched. A chip with a C-like compiler so gets every op without a kernel
 * written by hand.
 *
 * A *module* is compiled code; a *function* is one entry of it and lives as long as its module. The host keeps what
 * module_get_binary gives and loads it in a later process, under a key of source, options and `compiler_id`: the same
 * key must mean the same binary.
 *
 * A compiler's complaints are for people: they come back as text, whole, in the vendor's words.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DG_COMPILER_H
#define DOUGONG_EXT_DG_COMPILER_H

#include "../dg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_COMPILER "dg.compiler/1"

typedef struct dg_module dg_module_t;
typedef struct dg_function dg_function_t;

/* Filled by get_properties as dg_device_properties_t is: the host sets struct_size, zero means "not said". */
typedef struct dg_compiler_properties_t {
  size_t struct_size;
  const char *dialect;     /* the language of a source: "c", "opencl-c", "cuda-c", "hip". Valid until device_destroy */
  const char *compiler_id; /* names the compiler, its version and the chip: part of the key of a kept binary         */
  uint32_t max_group[3];   /* work items in a group along each axis, and `max_group_total` in all                    */
  uint32_t max_group_total;
  uint32_t subgroup;      /* work items that run in step: warp, wavefront. 1 if there is no such thing               */
  uint32_t shared_memory; /* bytes that a group can share                                                            */
} dg_compiler_properties_t;

/* What kind of thing an argument is. The tag makes the call independent of how a chip passes arguments. */
typedef int32_t dg_argument_kind_t;
enum {
  DG_ARGUMENT_BUFFER = 0, /* `handle` of device memory. `byte_offset` is added to it where handles are addresses; with
                             DG_DEVICE_OPAQUE_MEMORY it is zero, and the source takes its offset as a value           */
  DG_ARGUMENT_VALUE = 1,  /* `value` points to `size` bytes, read during the call                                    */
  DG_ARGUMENT_SHARED = 2  /* `size` bytes of memory that the work items of a group share                             */
};

typedef struct dg_argument_t {
  dg_argument_kind_t kind;
  uint32_t size;
  void *handle;
  uint64_t byte_offset;
  const void *value;
} dg_argument_t;

/* How a function is spread over the chip. Tagged by its struct_size: later fields default to zero. */
typedef struct dg_launch_t {
  size_t struct_size;
  uint64_t groups[3]; /* groups along each axis, none zero. A number that the chip cannot count is refused, never cut */
  uint32_t group[3];  /* work items in a group along each axis, none zero                                            */
  uint32_t dynamic_shared_memory; /* bytes, beside those of DG_ARGUMENT_SHARED                                       */
} dg_launch_t;

typedef struct dg_compiler_api_t {
  size_t struct_size;

  /* [any thread] (required) */
  dg_status_t (*get_properties)(dg_device_t *device, dg_compiler_properties_t *out_properties);

  /* Compiles one source, UTF-8. `options` are words for the compiler, ended by a null pointer. The text of `out_log`,
   * which may be empty, belongs to the plugin and is valid until this thread's next call; it is given on failure too,
   * then with DG_STATUS_INVALID_ARGUMENT. [any thread] (optional: null means that binaries alone can be loaded) */
  dg_status_t (*module_compile)(dg_device_t *device, const char *source, const char *const *options,
                                dg_module_t **out_module, const char **out_log);

  /* Loads what module_get_binary gave, or the vendor's own file. DG_STATUS_INCOMPATIBLE if it is for another chip or
   * driver: the host then compiles again. [any thread] (required) */
  dg_status_t (*module_load)(dg_device_t *device, const void *binary, size_t size, dg_module_t **out_module);

  /* The bytes belong to the module. [any thread] (optional: null means that every process compiles anew) */
  dg_status_t (*module_get_binary)(dg_module_t *module, const void **out_binary, size_t *out_size);

  /* No work uses it any more. [any thread] (required) */
  void (*module_destroy)(dg_module_t *module);

  /* DG_STATUS_INVALID_ARGUMENT if there is no such entry. [any thread] (required) */
  dg_status_t (*module_get_function)(dg_module_t *module, const char *name, dg_function_t **out_function);

  /* Queues a function. Arguments are in the order of its parameters, and read during the call.
   * [one thread per stream] (required) */
  dg_status_t (*function_launch)(dg_function_t *function, const dg_launch_t *launch, const dg_argument_t *arguments,
                                 size_t argument_count, dg_stream_t *stream);
} dg_compiler_api_t;

#ifdef __cplusplus
}
#endif
#endif
