/* dougong device API, draft capability "dg.profiler/0": what the chip did, and when.
 *
 * A DRAFT: it may change or go in any minor version, and its id then ends in another revision. A plugin gives the table
 * out through dg_plugin_t.get_extension(DG_EXTENSION_PROFILER); a host asks for the id that it was built with and for
 * no other. The table grows at the end only, as every struct of this API does.
 *
 * Between start and stop the plugin keeps a record of each piece of work: kernels, copies, fills. `read` hands the
 * records over in any order, those of work that is not done yet later. Profiling may slow work down, but never changes
 * a result or the order of a stream.
 *
 * CLOCK. Times are nanoseconds of the host's monotonic clock, however the chip counts: the plugin converts. A tool can
 * then lay the records beside its own, and those of several devices beside each other.
 *
 * LOSS. When there is no room the oldest records go, and `out_lost` counts them: a gap is never silent.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DRAFT_DG_PROFILER_H
#define DOUGONG_EXT_DRAFT_DG_PROFILER_H

#include "../../dg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_PROFILER "dg.profiler/0"

typedef int32_t dg_record_kind_t;
enum { DG_RECORD_KERNEL = 0, DG_RECORD_COPY = 1, DG_RECORD_FILL = 2, DG_RECORD_COLLECTIVE = 3 };

/* One piece of work. `name` belongs to the plugin and is valid until shutdown: the op's, or the vendor's function. */
typedef struct dg_record_t {
  const char *name;
  dg_stream_t *stream; /* null on a synchronous device                                                               */
  int64_t begin_ns;
  int64_t end_ns;
  uint64_t bytes; /* of a copy or fill, else 0                                                                       */
  uint64_t tag;   /* what set_tag had said on the thread that queued it                                              */
  dg_record_kind_t kind;
  int32_t padding; /* zero                                                                                           */
} dg_record_t;

typedef struct dg_profiler_api_t {
  size_t struct_size;

  /* Begins to record. A second start before a stop is DG_STATUS_INVALID_ARGUMENT. [any thread] (required) */
  dg_status_t (*start)(dg_device_t *device);

  /* Ends it. Records not yet read stay. [any thread] (required) */
  dg_status_t (*stop)(dg_device_t *device);

  /* Moves at most `capacity` records of work that is done to `out_records`. `record_size` is the host's
   * sizeof(dg_record_t), the distance between two records: the plugin fills what both know of each.
   * [one thread per object] (required) */
  dg_status_t (*read)(dg_device_t *device, dg_record_t *out_records, size_t record_size, size_t capacity,
                      size_t *out_count, uint64_t *out_lost);

  /* Work that this thread queues from now on carries the tag: the host's number for the op that it came from.
   * [any thread] (optional: null means that every tag is 0) */
  dg_status_t (*set_tag)(dg_device_t *device, uint64_t tag);
} dg_profiler_api_t;

#ifdef __cplusplus
}
#endif
#endif
