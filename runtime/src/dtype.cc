// SPDX-License-Identifier: Apache-2.0
#include "dtype.h"

#include "status.h"

namespace dougong {

const DtypeInfo dtype_table[dtype_count] = {
    {DG_DTYPE_BOOL, "bool", 1, DtypeKind::boolean},
    {DG_DTYPE_UINT8, "uint8", 1, DtypeKind::unsigned_integer},
    {DG_DTYPE_UINT16, "uint16", 2, DtypeKind::unsigned_integer},
    {DG_DTYPE_UINT32, "uint32", 4, DtypeKind::unsigned_integer},
    {DG_DTYPE_UINT64, "uint64", 8, DtypeKind::unsigned_integer},
    {DG_DTYPE_INT8, "int8", 1, DtypeKind::signed_integer},
    {DG_DTYPE_INT16, "int16", 2, DtypeKind::signed_integer},
    {DG_DTYPE_INT32, "int32", 4, DtypeKind::signed_integer},
    {DG_DTYPE_INT64, "int64", 8, DtypeKind::signed_integer},
    {DG_DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn", 1, DtypeKind::floating},
    {DG_DTYPE_FLOAT8_E5M2, "float8_e5m2", 1, DtypeKind::floating},
    {DG_DTYPE_FLOAT16, "float16", 2, DtypeKind::floating},
    {DG_DTYPE_BFLOAT16, "bfloat16", 2, DtypeKind::floating},
    {DG_DTYPE_FLOAT32, "float32", 4, DtypeKind::floating},
    {DG_DTYPE_FLOAT64, "float64", 8, DtypeKind::floating},
    {DG_DTYPE_COMPLEX64, "complex64", 8, DtypeKind::complex},
    {DG_DTYPE_COMPLEX128, "complex128", 16, DtypeKind::complex},
};

int dtype_index(dg_dtype_t dtype) {
  switch (dtype) {
    case DG_DTYPE_BOOL:
      return 0;
    case DG_DTYPE_UINT8:
      return 1;
    case DG_DTYPE_UINT16:
      return 2;
    case DG_DTYPE_UINT32:
      return 3;
    case DG_DTYPE_UINT64:
      return 4;
    case DG_DTYPE_INT8:
      return 5;
    case DG_DTYPE_INT16:
      return 6;
    case DG_DTYPE_INT32:
      return 7;
    case DG_DTYPE_INT64:
      return 8;
    case DG_DTYPE_FLOAT8_E4M3FN:
      return 9;
    case DG_DTYPE_FLOAT8_E5M2:
      return 10;
    case DG_DTYPE_FLOAT16:
      return 11;
    case DG_DTYPE_BFLOAT16:
      return 12;
    case DG_DTYPE_FLOAT32:
      return 13;
    case DG_DTYPE_FLOAT64:
      return 14;
    case DG_DTYPE_COMPLEX64:
      return 15;
    case DG_DTYPE_COMPLEX128:
      return 16;
    default:
      return -1;
  }
}

const DtypeInfo &dtype_info(dg_dtype_t dtype) {
  const int index = dtype_index(dtype);
  if (index < 0) fail(DG_STATUS_INVALID_ARGUMENT, "0x%08x is not a dtype of the device API", dtype);
  return dtype_table[index];
}

std::string dtype_name(dg_dtype_t dtype) {
  const int index = dtype_index(dtype);
  if (index >= 0) return dtype_table[index].name;
  char text[32];
  snprintf(text, sizeof text, "unknown(0x%08x)", dtype);
  return text;
}

dg_dtype_t dtype_from_name(const std::string &name) {
  for (const DtypeInfo &info : dtype_table)
    if (name == info.name) return info.dtype;
  return DG_DTYPE_NONE;
}

dg_dtype_t accumulator(dg_dtype_t dtype) {
  return dtype == DG_DTYPE_FLOAT16 || dtype == DG_DTYPE_BFLOAT16 ? DG_DTYPE_FLOAT32 : dtype;
}

static dg_dtype_t promote_integers(const DtypeInfo &a, const DtypeInfo &b) {
  if (a.kind == b.kind) return a.size >= b.size ? a.dtype : b.dtype;
  const DtypeInfo &with_sign = a.kind == DtypeKind::signed_integer ? a : b;
  const DtypeInfo &without = a.kind == DtypeKind::signed_integer ? b : a;
  if (with_sign.size > without.size) return with_sign.dtype;
  switch (without.size) {
    case 1:
      return DG_DTYPE_INT16;
    case 2:
      return DG_DTYPE_INT32;
    case 4:
      return DG_DTYPE_INT64;
    default:
      return DG_DTYPE_NONE;  // uint64 with a signed integer: the standard leaves it undefined
  }
}

static dg_dtype_t promote_complex(const DtypeInfo &a, const DtypeInfo &b) {
  const bool wide = a.dtype == DG_DTYPE_COMPLEX128 || b.dtype == DG_DTYPE_COMPLEX128 || a.dtype == DG_DTYPE_FLOAT64 ||
                    b.dtype == DG_DTYPE_FLOAT64;
  return wide ? DG_DTYPE_COMPLEX128 : DG_DTYPE_COMPLEX64;
}

dg_dtype_t promote(dg_dtype_t first, dg_dtype_t second) {
  if (first == second) return first;
  const DtypeInfo &a = dtype_info(first), &b = dtype_info(second);
  if (a.kind == DtypeKind::complex || b.kind == DtypeKind::complex) return promote_complex(a, b);
  if (a.kind == DtypeKind::floating && b.kind == DtypeKind::floating) {
    if (a.size == b.size) return dg_dtype_t(a.size == 1 ? DG_DTYPE_NONE : DG_DTYPE_FLOAT32);  // float16 with bfloat16
    return a.size > b.size ? a.dtype : b.dtype;
  }
  if (a.kind == DtypeKind::floating) return a.dtype;
  if (b.kind == DtypeKind::floating) return b.dtype;
  if (a.kind == DtypeKind::boolean) return b.dtype;
  if (b.kind == DtypeKind::boolean) return a.dtype;
  return promote_integers(a, b);
}

}  // namespace dougong
