/* dougong device API, draft capability "dg.collective/0": communication among the devices of several processes.
 *
 * A DRAFT: it may change or go in any minor version, and its id then ends in another revision. A plugin gives the table
 * out through dg_plugin_t.get_extension(DG_EXTENSION_COLLECTIVE); a host asks for the id that it was built with and for
 * no other. The table grows at the end only, as every struct of this API does.
 *
 * A communicator joins `rank_count` devices, one in each process or several in one. Rank 0 makes a unique id and the
 * host carries its bytes to the other ranks by its own means: a store, a file, MPI. The size of an id is asked for,
 * never assumed: vendors use from 128 to more than 4096 bytes.
 *
 * ORDER. Every rank queues the same operations on a communicator in the same order. An operation runs on the stream
 * that is given, and is done when the stream has passed it. A synchronous device gets a null stream, and the call then
 * returns when the operation is done.
 *
 * BUFFERS are a handle and a byte offset; counts are elements of `dtype`. The input may be the output, at the same
 * offset, or lie apart from it. Both stay alive until the stream has passed.
 *
 * FAILURE. A dtype or reduction that the chip does not have is DG_STATUS_UNSUPPORTED on every rank, before anything was
 * sent. When a peer is lost the communicator is broken: communicator_get_error says why, every later call fails with
 * the same status, and only communicator_abort and communicator_destroy are of use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DRAFT_DG_COLLECTIVE_H
#define DOUGONG_EXT_DRAFT_DG_COLLECTIVE_H

#include "../../dg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_COLLECTIVE "dg.collective/0"

typedef struct dg_communicator dg_communicator_t;

typedef int32_t dg_reduction_t;
enum {
  DG_REDUCTION_SUM = 0,
  DG_REDUCTION_PRODUCT = 1,
  DG_REDUCTION_MIN = 2, /* NaN propagates                                                                            */
  DG_REDUCTION_MAX = 3, /* NaN propagates                                                                            */
  DG_REDUCTION_MEAN = 4 /* the sum divided by rank_count, rounded once                                               */
};

/* A part of device memory. */
typedef struct dg_buffer_t {
  void *handle;
  uint64_t byte_offset;
} dg_buffer_t;

typedef struct dg_collective_api_t {
  size_t struct_size;

  /* The bytes of a unique id, at most 65536. May not change. [any thread] (required) */
  dg_status_t (*unique_id_get_size)(void *context, size_t *out_size);

  /* Writes a new id of that size. Called on one rank only. [any thread] (required) */
  dg_status_t (*unique_id_create)(void *context, void *out_id, size_t size);

  /* Joins the communicator as `rank`, 0 <= rank < rank_count. Returns when all ranks have joined, or fails with
   * DG_STATUS_TIMED_OUT. Every rank calls it at the same time, between group_start and group_end where one thread
   * holds several ranks. [one thread per object] (required) */
  dg_status_t (*communicator_create)(dg_device_t *device, const void *id, size_t id_size, int32_t rank,
                                     int32_t rank_count, dg_communicator_t **out_communicator);

  /* All its work is done on every rank. [one thread per object] (required) */
  dg_status_t (*communicator_destroy)(dg_communicator_t *communicator);

  /* Gives up: work that still runs ends soon, with DG_STATUS_ABORTED. The communicator must be destroyed afterwards.
   * [any thread] (optional: null means that only the end of the process helps) */
  dg_status_t (*communicator_abort)(dg_communicator_t *communicator);

  /* DG_STATUS_OK while the communicator is sound, else why it is broken. Does not wait.
   * [any thread] (optional: null means that errors are seen at the next synchronization only) */
  dg_status_t (*communicator_get_error)(dg_communicator_t *communicator);

  /* Operations between the two are started together, so that sends and receives do not wait for each other. Groups
   * nest; the outermost end starts them. [one thread] (optional, together: null means that the host pairs sends and
   * receives up in order) */
  dg_status_t (*group_start)(void *context);
  dg_status_t (*group_end)(void *context);

  /* Every output holds the reduction of all inputs. [one thread per object] (required) */
  dg_status_t (*all_reduce)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                            dg_dtype_t dtype, dg_reduction_t reduction, dg_stream_t *stream);

  /* The output of `root` holds the reduction of all inputs; other outputs are not written.
   * [one thread per object] (optional: null means that the host uses all_reduce) */
  dg_status_t (*reduce)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                        dg_dtype_t dtype, dg_reduction_t reduction, int32_t root, dg_stream_t *stream);

  /* Every output holds the input of `root`. [one thread per object] (required) */
  dg_status_t (*broadcast)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                           dg_dtype_t dtype, int32_t root, dg_stream_t *stream);

  /* Every output holds the inputs of all ranks in their order: `count` elements from each.
   * [one thread per object] (required) */
  dg_status_t (*all_gather)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                            dg_dtype_t dtype, dg_stream_t *stream);

  /* The inputs, of rank_count * count elements, are reduced; rank r gets the r-th part, of `count`.
   * [one thread per object] (optional: null means that the host uses all_reduce and takes its part) */
  dg_status_t (*reduce_scatter)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                                dg_dtype_t dtype, dg_reduction_t reduction, dg_stream_t *stream);

  /* Part r of the input, of `count` elements, goes to rank r; part r of the output came from there. Not in place.
   * [one thread per object] (optional: null means that the host uses a group of sends and receives) */
  dg_status_t (*all_to_all)(dg_communicator_t *communicator, dg_buffer_t input, dg_buffer_t output, size_t count,
                            dg_dtype_t dtype, dg_stream_t *stream);

  /* Messages between two ranks arrive in the order in which they were sent; both sides give the same count and dtype.
   * [one thread per object] (optional, together: null means "unsupported") */
  dg_status_t (*send)(dg_communicator_t *communicator, dg_buffer_t input, size_t count, dg_dtype_t dtype,
                      int32_t peer, dg_stream_t *stream);
  dg_status_t (*receive)(dg_communicator_t *communicator, dg_buffer_t output, size_t count, dg_dtype_t dtype,
                         int32_t peer, dg_stream_t *stream);
} dg_collective_api_t;

#ifdef __cplusplus
}
#endif
#endif
