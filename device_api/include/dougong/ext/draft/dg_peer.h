/* dougong device API, draft capability "dg.peer/0": which devices reach each other's memory.
 *
 * A DRAFT: it may change or go in any minor version, and its id then ends in another revision. A plugin gives the table
 * out through dg_plugin_t.get_extension(DG_EXTENSION_PEER); a host asks for the id that it was built with and for
 * no other. The table grows at the end only, as every struct of this API does.
 *
 * dg_device_api_t.copy_peer copies between two devices and needs nothing of this. The capability is for kernels that
 * read and write another device's memory in place, and for hosts that choose a route by what the links can do.
 *
 * Access has a direction: that a reaches b's memory does not say that b reaches a's. It holds for all memory of the
 * other device, what is allocated later included, until it is disabled or one of the two is destroyed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DRAFT_DG_PEER_H
#define DOUGONG_EXT_DRAFT_DG_PEER_H

#include "../../dg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_PEER "dg.peer/0"

/* Filled by get_link as dg_device_properties_t is: the host sets struct_size, zero means "not said". */
typedef struct dg_peer_link_t {
  size_t struct_size;
  int32_t accessible;    /* 0 or 1: whether access can be enabled                                                    */
  int32_t atomics;       /* 0 or 1: whether atomic operations work across the link                                   */
  double peak_bandwidth; /* bytes/s in this direction                                                                */
  int32_t hops;          /* 1 for a direct link, more through switches or the host                                   */
  int32_t padding;       /* zero                                                                                     */
} dg_peer_link_t;

typedef struct dg_peer_api_t {
  size_t struct_size;

  /* From `device` to the memory of `peer`, two devices of this plugin. [any thread] (required) */
  dg_status_t (*get_link)(dg_device_t *device, dg_device_t *peer, dg_peer_link_t *out_link);

  /* Lets kernels of `device` use the memory of `peer`. Enabling twice is legal and changes nothing;
   * DG_STATUS_UNSUPPORTED where the link does not allow it. [any thread] (required) */
  dg_status_t (*enable)(dg_device_t *device, dg_device_t *peer);

  /* No work of `device` uses the memory of `peer` any more. [any thread] (required) */
  dg_status_t (*disable)(dg_device_t *device, dg_device_t *peer);
} dg_peer_api_t;

#ifdef __cplusplus
}
#endif
#endif
