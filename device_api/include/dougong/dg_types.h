/* dougong device API: the values that cross the boundary.
 *
 * Everything here is a fixed-width value: no pointer, no layout that depends on the compiler. Enumerators are
 * anonymous and each type is a typedef of a fixed-width integer, so that the width is in the ABI and the names are not.
 * A value that a side does not know is never trusted: the host refuses unknown dtypes, and treats an unknown status
 * as DG_STATUS_INTERNAL.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUGONG_DG_TYPES_H
#define DOUGONG_DG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major version lives in the name of the entry symbol (dg_plugin_entry_v1). The minor version only tells people
 * what a plugin was built against; what a table holds is told by its struct_size, never by a version. */
#define DG_ABI_MAJOR 1
#define DG_ABI_MINOR 0
#define DG_ABI_VERSION ((uint32_t)DG_ABI_MAJOR << 16 | (uint32_t)DG_ABI_MINOR)

/* The highest rank of a tensor that crosses this API. */
#define DG_MAX_NDIM 16

/* ---- Status --------------------------------------------------------------------------------------------------
 *
 * Errors are values. Every slot that can fail returns a dg_status_t, and the sentence that explains the failure is
 * read with dg_plugin_t.get_last_error on the same thread. No exception and no longjmp crosses the boundary. */
typedef int32_t dg_status_t;
enum {
  DG_STATUS_OK = 0,
  DG_STATUS_NOT_READY = 1,        /* a query: the work is still running. Not a failure.                              */
  DG_STATUS_INVALID_ARGUMENT = 2, /* the caller broke the contract: a bug of the host                                */
  DG_STATUS_OUT_OF_MEMORY = 3,    /* nothing was changed; the device is still usable                                 */
  DG_STATUS_UNSUPPORTED = 4,      /* never: this chip does not do it. Nothing was written; the host tries otherwise  */
  DG_STATUS_UNIMPLEMENTED = 5,    /* not yet: the chip could, the plugin does not. Else as UNSUPPORTED               */
  DG_STATUS_OUT_OF_RANGE = 6,     /* an index in the data points outside its axis. Nothing was written               */
  DG_STATUS_DEVICE_LOST = 7,      /* sticky: every later call on the device says the same until it is opened again   */
  DG_STATUS_TIMED_OUT = 8,        /* a peer or the device did not answer in time                                     */
  DG_STATUS_ABORTED = 9,          /* the work was cancelled, by abort or because something before it failed          */
  DG_STATUS_INCOMPATIBLE = 10,    /* the two sides, a driver or a file do not fit together                           */
  DG_STATUS_INTERNAL = 11         /* a bug of the plugin, or an error of the vendor's library without a better name  */
};

/* ---- Element types -------------------------------------------------------------------------------------------
 *
 * The value is DLPack's DLDataType read as a little-endian 32-bit word: code | bits << 8 | lanes << 16, lanes = 1.
 * The codes are DLPack 1.1's. Zero is "no dtype" and ends a list. A bool is one byte: 0 or 1 when written, any
 * non-zero byte is true when read. */
typedef uint32_t dg_dtype_t;
enum {
  DG_DTYPE_NONE = 0,
  DG_DTYPE_INT8 = 0x00010800,
  DG_DTYPE_INT16 = 0x00011000,
  DG_DTYPE_INT32 = 0x00012000,
  DG_DTYPE_INT64 = 0x00014000,
  DG_DTYPE_UINT8 = 0x00010801,
  DG_DTYPE_UINT16 = 0x00011001,
  DG_DTYPE_UINT32 = 0x00012001,
  DG_DTYPE_UINT64 = 0x00014001,
  DG_DTYPE_FLOAT16 = 0x00011002,
  DG_DTYPE_FLOAT32 = 0x00012002,
  DG_DTYPE_FLOAT64 = 0x00014002,
  DG_DTYPE_BFLOAT16 = 0x00011004,
  DG_DTYPE_COMPLEX64 = 0x00014005,
  DG_DTYPE_COMPLEX128 = 0x00018005,
  DG_DTYPE_BOOL = 0x00010806,
  DG_DTYPE_FLOAT8_E4M3FN = 0x0001080a,
  DG_DTYPE_FLOAT8_E5M2 = 0x0001080c
};

/* ---- Memory --------------------------------------------------------------------------------------------------*/
typedef int32_t dg_memory_kind_t;
enum {
  DG_MEMORY_DEVICE = 0,     /* where kernels work. The handle may be an address or anything else pointer-sized       */
  DG_MEMORY_HOST_PINNED = 1 /* host memory that copies may read and write after the call has returned. The handle is
                               its host address                                                                      */
};

/* ---- A number whose type is known at run time: the value of `full`, a padding value ---------------------------*/
typedef int32_t dg_scalar_kind_t;
enum {
  DG_SCALAR_INT = 0,   /* `integer` holds the value, also for bool (0 or 1)                                          */
  DG_SCALAR_FLOAT = 1, /* `real` holds the value                                                                     */
  DG_SCALAR_COMPLEX = 2 /* `real` and `imaginary` hold the value                                                     */
};
typedef struct dg_scalar_t {
  dg_scalar_kind_t kind;
  int32_t padding; /* zero */
  int64_t integer;
  double real;
  double imaginary;
} dg_scalar_t;

/* ---- Tensors -------------------------------------------------------------------------------------------------
 *
 * The layout of DLPack's DLTensor, so that a descriptor crosses to DLPack without a copy. Because DLPack fixed it, it
 * is the one struct here without a struct_size, and it will never grow.
 *
 * Element (i0, i1, ...) lies `byte_offset + itemsize * (i0 * strides[0] + i1 * strides[1] + ...)` bytes into the
 * memory `data`. `data` is the handle that memory_allocate returned: it may be opaque, so only byte_offset is added to
 * and it is always honoured. Strides count elements, may be zero (a broadcast axis) or negative, and are meaningless
 * for an axis of size 0 or 1. `shape` and `strides` are never null unless ndim is 0. The host owns all of it; it stays
 * valid during the call only. */
typedef struct dg_tensor_t {
  void *data;
  int32_t device_type; /* DLPack's device type of the plugin (dg_device_properties_t.dlpack_device_type)             */
  int32_t device_id;   /* the device's index within the plugin                                                       */
  int32_t ndim;        /* 0 to DG_MAX_NDIM                                                                           */
  dg_dtype_t dtype;
  int64_t *shape;   /* ndim sizes, each >= 0                                                                         */
  int64_t *strides; /* ndim strides, in elements                                                                     */
  uint64_t byte_offset;
} dg_tensor_t;

#ifdef __cplusplus
}
#endif
#endif
