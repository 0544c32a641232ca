/* dougong device API, draft capability "dg.ipc/0": device memory and events shared among processes of one machine.
 *
 * A DRAFT: it may change or go in any minor version, and its id then ends in another revision. A plugin gives the table
 * out through dg_plugin_t.get_extension(DG_EXTENSION_IPC); a host asks for the id that it was built with and for
 * no other. The table grows at the end only, as every struct of this API does.
 *
 * The owner exports an object: that gives bytes, which the host carries to another process, and the other process
 * imports them. The size of the bytes is asked for, never assumed. Bytes are of no use on another machine, or after the
 * owner has freed the object.
 *
 * LIFETIME. The owner keeps an exported allocation until every importer has closed it. Import the whole allocation:
 * offsets within it are the host's business. Importing twice in one process is legal and gives two handles or one that
 * counts; each is closed.
 *
 * ORDER. Sharing memory orders nothing: processes share an event too, or synchronize.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_EXT_DRAFT_DG_IPC_H
#define DOUGONG_EXT_DRAFT_DG_IPC_H

#include "../../dg_device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_EXTENSION_IPC "dg.ipc/0"

typedef struct dg_ipc_api_t {
  size_t struct_size;

  /* The bytes that an exported allocation and an exported event take, at most 65536 each; zero for events means that
   * they cannot be shared. May not change. [any thread] (required) */
  dg_status_t (*get_sizes)(dg_device_t *device, size_t *out_memory_size, size_t *out_event_size);

  /* `handle` is what memory_allocate gave for device memory. [any thread] (required) */
  dg_status_t (*memory_export)(dg_device_t *device, void *handle, void *out_bytes, size_t size);

  /* On the device that the memory is on; DG_STATUS_INCOMPATIBLE for bytes of another machine, driver or device.
   * [any thread] (required) */
  dg_status_t (*memory_import)(dg_device_t *device, const void *bytes, size_t size, void **out_handle);

  /* Gives an imported handle back, and not the memory. No work uses it any more. [any thread] (required) */
  dg_status_t (*memory_close)(dg_device_t *device, void *handle);

  /* The imported event is complete when the owner's is. It is given back with event_destroy.
   * [any thread] (optional, together: null means that processes synchronize instead) */
  dg_status_t (*event_export)(dg_device_t *device, dg_event_t *event, void *out_bytes, size_t size);
  dg_status_t (*event_import)(dg_device_t *device, const void *bytes, size_t size, dg_event_t **out_event);
} dg_ipc_api_t;

#ifdef __cplusplus
}
#endif
#endif
