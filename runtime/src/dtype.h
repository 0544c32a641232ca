// Element types: their names, sizes and promotion.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <string>

namespace dougong {

enum class DtypeKind : uint8_t { boolean, unsigned_integer, signed_integer, floating, complex };

struct DtypeInfo {
  dg_dtype_t dtype;
  const char *name;
  uint8_t size;  // bytes
  DtypeKind kind;
};

constexpr int dtype_count = 17;

// All dtypes of the device API, in the order of `dtype_index`.
extern const DtypeInfo dtype_table[dtype_count];

// 0 .. dtype_count - 1, or -1 for a value that this API does not know.
int dtype_index(dg_dtype_t dtype);
inline bool dtype_is_known(dg_dtype_t dtype) { return dtype_index(dtype) >= 0; }
const DtypeInfo &dtype_info(dg_dtype_t dtype);        // throws INVALID_ARGUMENT for an unknown dtype
std::string dtype_name(dg_dtype_t dtype);             // "float32", or "unknown(0x...)"
dg_dtype_t dtype_from_name(const std::string &name);  // DG_DTYPE_NONE if there is none

inline uint64_t dtype_size(dg_dtype_t dtype) { return ((dtype >> 8) & 0xff) / 8; }
inline bool is_floating(dg_dtype_t dtype) {
  const uint32_t code = dtype & 0xff;
  return code == 2 || code == 4 || (code >= 7 && code <= 14);
}
inline bool is_complex(dg_dtype_t dtype) { return (dtype & 0xff) == 5; }
inline bool is_differentiable(dg_dtype_t dtype) { return is_floating(dtype) || is_complex(dtype); }
// float32 for float16 and bfloat16, else the dtype itself.
dg_dtype_t accumulator(dg_dtype_t dtype);

// The dtype that holds both, by the array API where it speaks and by PyTorch's rules elsewhere: between kinds the
// higher kind wins with its own width; float16 with bfloat16 is float32. DG_DTYPE_NONE if there is no common dtype.
dg_dtype_t promote(dg_dtype_t a, dg_dtype_t b);

}  // namespace dougong
