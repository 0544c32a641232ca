/* dougong device API, draft capability "dg.graph/0": work recorded once and replayed, and graphs compiled as a whole.
 *
 * A DRAFT: it may change or go in any minor version, and its id then ends in another revision. A plugin gives the table
 * out through dg_plugin_t.get_extension(DG_EXTENSION_GRAPH); a host asks for the id that it was built with and for
 * no other. The table grows at the end only, as every struct of this API does.
 *
 * CAPTURE. Between capture_begin and capture_end the work queued on a stream is recorded, not run. Streams that wait
 * for an event recorded in the capture join it. Allocation and synchronization are not part of a graph: the host makes
 * none while it records, and a plugin fails with DG_STATUS_INVALID_ARGUMENT if it sees one.
 *
 * A *graph* is what was recorded; an *executable* is what the chip runs. Addresses, offsets and attributes are those of
 * the recording: a replay works on the same memory, which the host keeps alive.
 *
 * WHOLE GRAPHS. A chip whose compiler wants all ops at once implements `compile`: it gets the ops in an order in which
 * they can run, with values numbered, and says UNSUPPORTED for what it does not take: the host then runs the ops one by
 * one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DRAFT_DG_GRAPH_H
#define DOUGONG_EXT_DRAFT_DG_GRAPH_H

#include "../../dg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_GRAPH "dg.graph/0"

typedef struct dg_graph dg_graph_t;
typedef struct dg_executable dg_executable_t;

/* One op of a graph to compile. Values are numbers: those of the graph's inputs come first, then those of each node. */
typedef struct dg_graph_node_t {
  size_t struct_size;
  const char *op;         /* DG_OP_* of dg_ops.h                                                                     */
  const void *attributes; /* the op's dg_<op>_attributes_t, or null                                                  */
  const int32_t *inputs;  /* value numbers; -1 for an optional input that was left out                               */
  const int32_t *outputs;
  int32_t input_count;
  int32_t output_count;
} dg_graph_node_t;

/* A graph to compile. All of it belongs to the host and is read during the call. */
typedef struct dg_graph_source_t {
  size_t struct_size;
  const dg_graph_node_t *const *nodes;
  size_t node_count;
  const dg_tensor_t *values; /* shape, strides and dtype of each value; `data` is null                               */
  size_t value_count;
  size_t input_count;     /* the first so many values are inputs                                                     */
  const int32_t *outputs; /* the values that are wanted                                                              */
  size_t output_count;
} dg_graph_source_t;

typedef struct dg_graph_api_t {
  size_t struct_size;

  /* -- Capture: from here to executable_destroy one group, without executable_update ------------------------------- */

  /* [one thread per stream] (optional: a null group means that the host replays call by call) */
  dg_status_t (*capture_begin)(dg_device_t *device, dg_stream_t *stream);

  /* Ends the recording, also after a failure: `out_graph` is then not written, and the stream works as before.
   * [one thread per stream] */
  dg_status_t (*capture_end)(dg_device_t *device, dg_stream_t *stream, dg_graph_t **out_graph);

  /* [one thread per object] */
  void (*graph_destroy)(dg_graph_t *graph);

  /* Makes it ready to run. The graph may be destroyed afterwards. [any thread] */
  dg_status_t (*graph_instantiate)(dg_graph_t *graph, dg_executable_t **out_executable);

  /* Queues all of it. Two launches of one executable run one after the other. [one thread per stream] */
  dg_status_t (*executable_launch)(dg_executable_t *executable, dg_stream_t *stream);

  /* Takes addresses and attributes from a graph of the same form. DG_STATUS_UNSUPPORTED if the form differs: the host
   * then makes a new executable. [one thread per object] (optional: null means that it never can) */
  dg_status_t (*executable_update)(dg_executable_t *executable, dg_graph_t *graph);

  /* No work uses it any more. [one thread per object] */
  void (*executable_destroy)(dg_executable_t *executable);

  /* -- Whole graphs: compile, executable_run and executable_destroy are one group ---------------------------------- */

  /* [any thread] (optional: a null group means that the host runs op by op) */
  dg_status_t (*compile)(dg_device_t *device, const dg_graph_source_t *source, dg_executable_t **out_executable);

  /* Runs a compiled graph on tensors in the order of its inputs and outputs. [one thread per stream] */
  dg_status_t (*executable_run)(dg_executable_t *executable, const dg_tensor_t *const *inputs,
                                const dg_tensor_t *const *outputs, dg_stream_t *stream);
} dg_graph_api_t;

#ifdef __cplusplus
}
#endif
#endif
