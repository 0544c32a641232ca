// Elements in any layout, taken to and from short dense buffers in the type that kernels compute in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.h"

namespace dougong::cpu {

constexpr int64_t chunk_size = 512;  // elements
struct alignas(64) Buffer {
  char bytes[chunk_size * 8];
};

// `count` elements that lie `stride` bytes apart, into dense memory; 16-bit floats become floats where `widen` holds.
void load(void *destination, const char *source, int64_t stride, int64_t count, Dtype dtype, bool widen);
// Back again: floats are rounded to 16-bit floats where `widen` holds.
void store(char *destination, int64_t stride, const void *source, int64_t count, Dtype dtype, bool widen);

// A copy of a whole tensor, dense in row-major order; `widen` as above.
void load_tensor(void *destination, const dg_tensor_t &source, bool widen);
void store_tensor(const dg_tensor_t &destination, const void *source, bool widen);

// The elements of `source` copied to `destination`, of one shape and dtype. A bool is written as 0 or 1.
void copy_tensor(const dg_tensor_t &destination, const dg_tensor_t &source);

// Every element the value of the scalar, converted as `cast` converts.
void fill_tensor(const dg_tensor_t &destination, const dg_scalar_t &scalar);

}  // namespace dougong::cpu
