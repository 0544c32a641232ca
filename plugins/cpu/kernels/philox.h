// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. 2011), and tensors filled
// from it block by block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nest.h"
#include "strided.h"

namespace dougong::cpu {

struct PhiloxBlock {
  uint32_t word[4];
};

// The block of random words at position `counter` of the sequence that `seed` names.
inline PhiloxBlock philox(uint64_t seed, uint64_t counter) {
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * c0, p1 = uint64_t(0xCD9E8D57u) * c2;
    uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0, n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = uint32_t(p1), c2 = n2, c3 = uint32_t(p0);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// (high >> 5) * 2^26 + (low >> 6): 53 random bits.
inline uint64_t random_53(uint32_t high, uint32_t low) { return uint64_t(high >> 5) << 26 | low >> 6; }

// Distribution::draw<Storage>(block, out) makes the elements of one block, 4 or for float64 2, as Compute<Storage>.
// Element i in row-major order belongs to block offset + i / per_block.
template <class Distribution, class T>
void fill_random(const dg_tensor_t &y, uint64_t seed, uint64_t offset) {
  using C = Compute<T>;
  constexpr int per_block = sizeof(C) == 8 ? 2 : 4;
  Nest<1> nest;
  for (int32_t axis = 0; axis < y.ndim; ++axis) nest.add_axis(y.shape[axis], {y.strides[axis] * int64_t(sizeof(T))});
  nest.finish();
  C buffer[chunk_size], drawn[per_block];
  int64_t index = 0;
  nest.each_row({address(y)}, [&](char *const(&pointer)[1]) {
    int64_t stride = nest.row_stride()[0];
    for (int64_t first = 0; first < nest.row_size(); first += chunk_size) {
      int64_t left = nest.row_size() - first, n = left < chunk_size ? left : chunk_size;
      for (int64_t i = 0; i < n; ++i, ++index) {
        if (i == 0 || index % per_block == 0)
          Distribution::template draw<T>(philox(seed, offset + uint64_t(index / per_block)), drawn);
        buffer[i] = drawn[index % per_block];
      }
      store(pointer[0] + first * stride, stride, buffer, n, dtype_of(y.dtype), true);
    }
  });
}

template <class Distribution, class Attributes>
dg_status_t random_launch(const dg_kernel_call_t *call) {
  const Attributes &a = attributes<Attributes>(call);
  const dg_tensor_t &y = *call->outputs[0];
  return with_float(dtype_of(y.dtype), [&](auto type) {
    fill_random<Distribution, decltype(type)>(y, a.seed, a.offset);
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
