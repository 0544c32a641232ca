/* dougong device API: what a plugin implements.
 *
 * Read this file first, then the template's plugin.c, then conformance/README.md. The numbered rules of
 * device_api/SPEC.md say the same precisely; the ids in brackets, like [MEM-004], lead there.
 *
 * A plugin is a shared library that exports one symbol, dg_plugin_entry_v1, and nothing else. The entry returns a table
 * of constants and functions. Nothing runs before the table was checked, and the table can be static and const:
 *
 *     static const dg_device_api_t device_api = {.struct_size = sizeof(dg_device_api_t), .device_create = ..., };
 *     static const dg_plugin_t plugin = {.struct_size = sizeof(dg_plugin_t), .name = "acme", ..., };
 *     DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
 *
 * EVOLUTION [ABI-001]. Each struct begins with `size_t struct_size`, set to sizeof by whoever fills the struct. Tables
 * only grow at the end. Each side reads the prefix that both know, min(own size, struct_size), and takes what is
 * missing, or null, for the default that is stated with the slot. So a host and a plugin of different minor versions
 * work together in both directions. Another major version has another entry symbol.
 *
 * OWNERSHIP. `create` and `allocate` give an object to the caller, who gives it back to `destroy` or `free` exactly
 * once. `get` borrows. Out parameters come last, are named out_*, and are written only when the status is
 * DG_STATUS_OK. Strings are UTF-8, end in a zero byte, and belong to whoever returned them; each slot says for how
 * long.
 *
 * THREADS. Each slot carries one tag:
 *   [any thread]             may be called at any time from any thread, also at the same time as itself
 *   [one thread per stream]  the host calls it for one stream from one thread at a time; other streams may be busy
 *   [one thread per object]  the same, for the object that the slot is about
 *   [one thread]             the host makes no other call into the plugin meanwhile
 *
 * ERRORS. A slot that fails returns a status and leaves a sentence for get_last_error. A failure that belongs to work
 * already queued is reported by the next query or synchronize of that stream, event or device, and by every one after
 * it if the device is lost: never dropped. A slot must not let a C++ exception, a signal or a longjmp out.
 *
 * ORDER. Work queued on one stream runs in the order of the calls. Streams are not ordered among themselves but through
 * events. A synchronous chip leaves the stream and event slots null: every `stream` argument is then null, and every
 * call has finished its work when it returns [STR-001].
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_DG_DEVICE_H
#define DOUGONG_DG_DEVICE_H

#include "dg_kernel.h"
#include "dg_types.h"

#if defined(_WIN32)
#define DG_EXPORT __declspec(dllexport)
#else
#define DG_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque to the host: the plugin defines these structs, or casts its own pointers to them. dg_device_t and dg_stream_t
 * are declared in dg_kernel.h. A device is the context of every slot below that takes one. */
typedef struct dg_event dg_event_t;

/* ---- What the host offers -------------------------------------------------------------------------------------*/

typedef int32_t dg_log_level_t;
enum { DG_LOG_DEBUG = 0, DG_LOG_INFO = 1, DG_LOG_WARNING = 2, DG_LOG_ERROR = 3 };

typedef struct dg_host_t {
  size_t struct_size;
  uint32_t abi_version; /* DG_ABI_VERSION of the host                                                                */
  uint32_t padding;     /* zero                                                                                      */
  const char *name;     /* program and version, for messages: "dougong 0.1.0". Valid until shutdown                  */
  void *context;        /* passed back in each call below                                                            */

  /* Writes one line of text to the host's log. `message` is read during the call only.
   * [any thread] (optional: null means that the host keeps no log) */
  void (*log)(void *context, dg_log_level_t level, const char *message);
} dg_host_t;

/* ---- Device properties ----------------------------------------------------------------------------------------*/

enum {
  /* Device memory may be read and written by the host at the handle's address, when no work is running on it. */
  DG_DEVICE_HOST_ACCESSIBLE = 1,
  /* Handles are not addresses: nobody may compute with them. Without this bit handle + byte_offset is an address, of
   * the device or of the host. */
  DG_DEVICE_OPAQUE_MEMORY = 2,
  /* The same inputs give the same bits, run after run, for every kernel that carries DG_KERNEL_DETERMINISTIC. */
  DG_DEVICE_DETERMINISTIC = 4,
  /* float32 subnormals may be read or written as zero. The judge then forgives it, and the report says so. */
  DG_DEVICE_FLUSHES_SUBNORMALS = 8,
  /* Products are summed with truncation, as some matrix units do. The judge then uses the wider bound, and the report
   * says so. */
  DG_DEVICE_TRUNCATES_SUMS = 16,
  /* Of a synchronous device: the slots tagged [one thread per stream], and kernels, bear calls from several threads at
   * a time. Without it the host makes one such call at a time [DEV-007]. */
  DG_DEVICE_CONCURRENT = 32
};

/* Filled by device_get_properties. The host sets struct_size and zeroes the rest; the plugin fills the fields that it
 * knows of. Zero or null means "not said". Strings and lists stay valid until device_destroy. */
typedef struct dg_device_properties_t {
  size_t struct_size;
  const char *name;             /* of the chip, for people: "Acme A100"                                              */
  const char *architecture;     /* what compilers call it: "sm_90", "gfx906", "znver4"                               */
  uint64_t capabilities;        /* DG_DEVICE_* bits                                                                  */
  uint64_t memory_total;        /* bytes of device memory                                                            */
  uint64_t alignment;           /* bytes; a power of two. Each allocation begins at a multiple of it, and so do the
                                   pieces that the host cuts from one. Zero means 64                                 */
  const dg_dtype_t *dtypes;     /* element types that kernels and copies may meet, ended by DG_DTYPE_NONE. Null means
                                   all of them: bytes are bytes                                                      */
  double peak_bandwidth;        /* bytes/s between kernels and device memory                                         */
  double peak_flops;            /* float32 operations/s; one multiply-add counts two                                 */
  int32_t compute_units;        /* cores, SMs, CUs                                                                   */
  int32_t lowest_priority;      /* of streams: lowest <= 0 <= highest, a greater number is more urgent               */
  int32_t highest_priority;
  int32_t dlpack_device_type;   /* DLPack's device type of this memory. Zero means kDLExtDev (12)                    */
} dg_device_properties_t;

/* ---- The device -----------------------------------------------------------------------------------------------*/

/* Runs on a thread of the plugin when a stream reaches it, exactly once. `status` is DG_STATUS_OK, or why the stream
 * failed before it came there. It may not call into the plugin. */
typedef void (*dg_callback_t)(void *user_data, dg_status_t status);

/* Slots marked (required) must not be null. Slots of one group are all null or all present [ABI-005]. */
typedef struct dg_device_api_t {
  size_t struct_size;

  /* -- Life ----------------------------------------------------------------------------------------------------- */

  /* Opens device `index`, 0 <= index < device_count. Opening one device twice is legal and gives two objects or the
   * same one counted twice. [any thread] (required) */
  dg_status_t (*device_create)(void *context, int32_t index, dg_device_t **out_device);

  /* Closes it. All its work has ended, and all its memory, streams and events were given back. [one thread per object]
   * (required) */
  void (*device_destroy)(dg_device_t *device);

  /* [any thread] (required) */
  dg_status_t (*device_get_properties)(dg_device_t *device, dg_device_properties_t *out_properties);

  /* Waits for all work on all streams of the device, and reports the first failure among it. [any thread]
   * (optional: null means that the host synchronizes each stream it has made) */
  dg_status_t (*device_synchronize)(dg_device_t *device);

  /* -- Memory --------------------------------------------------------------------------------------------------- */

  /* Allocates `size` > 0 bytes. The content is undefined. DG_STATUS_OUT_OF_MEMORY leaves the device as it was; a `kind`
   * that the plugin does not have is DG_STATUS_UNSUPPORTED. The handle of a successful allocation is never null.
   * [any thread] (required) */
  dg_status_t (*memory_allocate)(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle);

  /* Gives back what memory_allocate gave, with the same kind. The host has made sure that no work uses it any more.
   * [any thread] (required) */
  dg_status_t (*memory_free)(dg_device_t *device, dg_memory_kind_t kind, void *handle);

  /* Bytes of device memory: free now, and in all. [any thread] (optional: null means "unknown") */
  dg_status_t (*memory_get_info)(dg_device_t *device, uint64_t *out_free, uint64_t *out_total);

  /* -- Copies, ordered on `stream` -------------------------------------------------------------------------------
   * Offsets and sizes are bytes; a size of zero never arrives. Handles are device memory of `device`. The host memory
   * is pageable unless it lies within a block of DG_MEMORY_HOST_PINNED of the same plugin.
   * Pageable: a source has been read, and a destination has been written, when the call returns [MEM-010].
   * Pinned: it is read or written when the stream comes there; the host keeps it alive and unchanged until then. */

  /* [one thread per stream] (required) */
  dg_status_t (*copy_host_to_device)(dg_device_t *device, void *destination, size_t destination_offset,
                                     const void *source, size_t size, dg_stream_t *stream);

  /* [one thread per stream] (required) */
  dg_status_t (*copy_device_to_host)(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                     size_t size, dg_stream_t *stream);

  /* The two ranges do not overlap. [one thread per stream] (optional: null means that the host copies through its own
   * memory) */
  dg_status_t (*copy_device_to_device)(dg_device_t *device, void *destination, size_t destination_offset,
                                       const void *source, size_t source_offset, size_t size, dg_stream_t *stream);

  /* From `source_device` to `device`, two devices of this plugin, on a stream of `device`. The host has ordered
   * `stream` after the work on the source. [one thread per stream] (optional: null, or DG_STATUS_UNSUPPORTED for a pair
   * that is not connected, means that the host copies through its own memory) */
  dg_status_t (*copy_peer)(dg_device_t *device, void *destination, size_t destination_offset,
                           dg_device_t *source_device, const void *source, size_t source_offset, size_t size,
                           dg_stream_t *stream);

  /* Writes `count` copies of a pattern of `pattern_size` = 1, 2, 4, 8 or 16 bytes. The pattern is read during the call;
   * the offset is a multiple of pattern_size. [one thread per stream] (optional: null means that the host copies a
   * filled buffer) */
  dg_status_t (*memory_fill)(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                             size_t pattern_size, size_t count, dg_stream_t *stream);

  /* -- Streams: stream_create, _destroy, _query and _synchronize are one group ----------------------------------- */

  /* A priority outside the device's range is clamped. [any thread] (optional: a null group means that the device is
   * synchronous) */
  dg_status_t (*stream_create)(dg_device_t *device, int32_t priority, dg_stream_t **out_stream);

  /* Work still queued is finished first, or by the time device_synchronize returns; the call itself need not wait.
   * [one thread per stream] */
  dg_status_t (*stream_destroy)(dg_device_t *device, dg_stream_t *stream);

  /* DG_STATUS_OK when all work queued so far is done, DG_STATUS_NOT_READY while some is not, else its failure.
   * Does not wait. [any thread] */
  dg_status_t (*stream_query)(dg_device_t *device, dg_stream_t *stream);

  /* Waits until all work queued before the call is done, and reports its first failure. Does not wait for other
   * streams. [any thread] */
  dg_status_t (*stream_synchronize)(dg_device_t *device, dg_stream_t *stream);

  /* Work queued on `stream` after this call begins when the work that `event` had recorded *at this call* is done. An
   * event that was never recorded does not hold anything up. The event may belong to another device of this plugin:
   * then it works, or is DG_STATUS_UNSUPPORTED. [one thread per stream] (optional: null means that the host waits) */
  dg_status_t (*stream_wait_event)(dg_device_t *device, dg_stream_t *stream, dg_event_t *event);

  /* Queues a host function. [one thread per stream] (optional: null means that the host waits, then calls it) */
  dg_status_t (*stream_add_callback)(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback,
                                     void *user_data);

  /* -- Events: event_create, _destroy, _record, _query and _synchronize are one group, present with streams only --- */

  /* `timing` is 0 or 1: whether event_elapsed will be asked. [any thread] (optional: a null group means that the host
   * synchronizes the stream instead) */
  dg_status_t (*event_create)(dg_device_t *device, int32_t timing, dg_event_t **out_event);

  /* A stream that waits for the event goes on waiting for what it recorded. [one thread per object] */
  dg_status_t (*event_destroy)(dg_device_t *device, dg_event_t *event);

  /* Captures all work queued on `stream` so far, copies included. Recording again replaces it.
   * [one thread per stream] */
  dg_status_t (*event_record)(dg_device_t *device, dg_event_t *event, dg_stream_t *stream);

  /* DG_STATUS_OK when the recorded work is done, also when nothing was ever recorded; DG_STATUS_NOT_READY while it is
   * not; else its failure. [any thread] */
  dg_status_t (*event_query)(dg_device_t *device, dg_event_t *event);

  /* Waits for the recorded work. [any thread] */
  dg_status_t (*event_synchronize)(dg_device_t *device, dg_event_t *event);

  /* Milliseconds from `start` to `end`, two events made with timing. DG_STATUS_NOT_READY while one of them is not
   * done; DG_STATUS_INVALID_ARGUMENT if one was never recorded or made without timing: never zero with success.
   * [any thread] (optional: null means "unsupported") */
  dg_status_t (*event_elapsed)(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds);

  /* -- Kernels --------------------------------------------------------------------------------------------------- */

  /* The kernels of this device: `out_count` pointers, valid and unchanged until device_destroy. Where several accept a
   * call the first one is taken. [any thread] (optional: null means "none": the host then computes everything on the
   * CPU, counted in the ledger) */
  dg_status_t (*device_get_kernels)(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count);
} dg_device_api_t;

/* ---- The plugin -----------------------------------------------------------------------------------------------*/

typedef struct dg_plugin_t {
  size_t struct_size;
  uint32_t abi_version; /* DG_ABI_VERSION, as built                                                                  */
  uint32_t padding;     /* zero                                                                                      */

  /* The device string's first part: "acme" for "acme:0". A lower-case letter, then lower-case letters, digits and
   * underscores, 31 bytes at most; the file is called libdg_<name>.so. (required) */
  const char *name;
  const char *version; /* of the plugin: "1.2.0". (required)                                                         */
  const char *vendor;  /* for people. (optional)                                                                     */

  /* Called once, before anything else but get_last_error. Finds the driver; takes no device. `host` stays valid until
   * shutdown. On failure the host shows get_last_error's sentence now and at every later use of the device string, and
   * calls nothing more. [one thread] (required) */
  dg_status_t (*initialize)(const dg_host_t *host, void **out_context);

  /* Called once, after all devices were destroyed. May be left out at process exit. [one thread] (optional) */
  void (*shutdown)(void *context);

  /* How many devices there are, 0 to 4096. Zero is legal. May not change. [any thread] (required) */
  dg_status_t (*device_count)(void *context, int32_t *out_count);

  /* The sentence for the last failed call of this plugin on the calling thread: what was wanted, what was found, what
   * to do; with the vendor's code and its name, if there is one. Valid until this thread's next call into the plugin.
   * `context` is null when initialize failed. [any thread] (optional: null, or an empty text, means that the host
   * makes a sentence of the status) */
  const char *(*get_last_error)(void *context);

  /* (required) */
  const dg_device_api_t *device;

  /* An optional capability by its id, "dg.<name>/<revision>" (see ext/), or null if the plugin does not have it. The
   * table begins with struct_size and lives until shutdown. [any thread] (optional) */
  const void *(*get_extension)(void *context, const char *id);
} dg_plugin_t;

/* The one exported symbol. Returns a table that lives as long as the library; does nothing else. Never null. */
typedef const dg_plugin_t *(*dg_plugin_entry_v1_t)(void);
DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void);

#ifdef __cplusplus
}
#endif
#endif
