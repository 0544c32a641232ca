// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. 2011), and tensors filled
// from it block by block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nest.h"
#include "strided.h"

namespace dougong::cpu {

// Blocks of four random words, at the positions counter, counter + 1, ... of the sequence that `seed` names.
// The words of one block lie side by side.
inline void philox(uint64_t seed, uint64_t counter, int64_t blocks, uint32_t *words) {
  vectorised([=] {
    for (int64_t i = 0; i < blocks; ++i) {
      uint64_t position = counter + uint64_t(i);
      uint32_t c0 = uint32_t(position), c1 = uint32_t(position >> 32), c2 = 0, c3 = 0;
      uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
      for (int round = 0; round < 10; ++round) {
        uint64_t p0 = uint64_t(0xD2511F53u) * c0, p1 = uint64_t(0xCD9E8D57u) * c2;
        uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0, n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
        c0 = n0, c1 = uint32_t(p1), c2 = n2, c3 = uint32_t(p0);
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
      }
      words[4 * i] = c0, words[4 * i + 1] = c1, words[4 * i + 2] = c2, words[4 * i + 3] = c3;
    }
  });
}

// (high >> 5) * 2^26 + (low >> 6): 53 random bits.
inline uint64_t random_53(uint32_t high, uint32_t low) { return uint64_t(high >> 5) << 26 | low >> 6; }

// The sequence of a distribution, read in order. Distribution::draw<Storage>(words, blocks, out) makes the elements of
// whole blocks, 4 each or for float64 2, as Compute<Storage>; element i belongs to block offset + i / per_block.
template <class Distribution, class T>
class RandomSequence {
 public:
  using C = Compute<T>;
  static constexpr int64_t per_block = sizeof(C) == 8 ? 2 : 4, blocks = chunk_size / per_block;

  RandomSequence(uint64_t seed, uint64_t offset) : seed_(seed), next_block_(offset) {}

  void take(C *out, int64_t count) {
    while (count > 0) {
      if (used_ == chunk_size) refill();
      int64_t n = chunk_size - used_ < count ? chunk_size - used_ : count;
      std::memcpy(out, drawn_ + used_, size_t(n) * sizeof(C));
      used_ += n, out += n, count -= n;
    }
  }

 private:
  void refill() {
    uint32_t words[4 * blocks];
    philox(seed_, next_block_, blocks, words);
    Distribution::template draw<T>(words, blocks, drawn_);
    next_block_ += blocks, used_ = 0;
  }

  uint64_t seed_, next_block_;
  int64_t used_ = chunk_size;
  C drawn_[chunk_size];
};

template <class Distribution, class T>
void fill_random(const dg_tensor_t &y, uint64_t seed, uint64_t offset) {
  Nest<1> nest;
  for (int32_t axis = 0; axis < y.ndim; ++axis) nest.add_axis(y.shape[axis], {y.strides[axis] * int64_t(sizeof(T))});
  nest.finish();
  RandomSequence<Distribution, T> sequence(seed, offset);
  Compute<T> buffer[chunk_size];
  nest.each_row({address(y)}, [&](char *const(&pointer)[1]) {
    int64_t stride = nest.row_stride()[0];
    for (int64_t first = 0; first < nest.row_size(); first += chunk_size) {
      int64_t left = nest.row_size() - first, n = left < chunk_size ? left : chunk_size;
      sequence.take(buffer, n);
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
