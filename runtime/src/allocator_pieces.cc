// Cutting and joining pieces. Everything here happens with `fast` held.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "allocator_state.h"

namespace dougong {

Pool &Allocator::State::pool_of(Stream &stream) {
  for (const auto &pool : pools)
    if (pool->stream.get() == &stream) return *pool;
  pools.push_back(std::make_unique<Pool>(stream));
  return *pools.back();
}

Piece *Allocator::State::new_piece(Segment *segment, uint64_t offset, uint64_t size) {
  Piece *piece = spares;
  if (piece)
    spares = piece->next;
  else
    piece = new Piece;
  piece->handle = segment->handle;
  piece->offset = offset;
  piece->size = size;
  piece->segment = segment;
  piece->before = piece->after = piece->next = nullptr;
  piece->stream = segment->pool->stream.get();
  return piece;
}

void Allocator::State::put(Piece *piece) {
  piece->in_set = true;
  piece->segment->pool->free[piece->segment->small].emplace(piece->size, piece);
}

void Allocator::State::take(Piece *piece) {
  piece->segment->pool->free[piece->segment->small].erase({piece->size, piece});
  piece->in_set = false;
}

// `gone` lies right behind `piece` and becomes part of it.
void Allocator::State::absorb(Piece *piece, Piece *gone) {
  piece->size += gone->size;
  piece->after = gone->after;
  if (gone->after) gone->after->before = piece;
  gone->next = spares;
  spares = gone;
}

// Joins a piece that is in no bin and not in the set with its free neighbours, and puts the whole into the set.
Piece *Allocator::State::join(Piece *piece) {
  if (Piece *after = piece->after; after && after->in_set) {
    take(after);
    absorb(piece, after);
  }
  if (Piece *before = piece->before; before && before->in_set) {
    take(before);
    absorb(before, piece);
    piece = before;
  }
  put(piece);
  return piece;
}

void Allocator::State::flush_bins(Pool &pool) {
  for (Piece *&bin : pool.bins)
    while (Piece *piece = bin) {
      bin = piece->next;
      join(piece);
    }
}

// The first `size` bytes of a free piece, out of the set; what is left stays in it if it can serve anybody.
Piece *Allocator::State::cut(Piece *piece, uint64_t size) {
  take(piece);
  const uint64_t rest = piece->size - size;
  if (rest < (piece->segment->small ? granule : small_limit)) return piece;
  Piece *remainder = new_piece(piece->segment, piece->offset + size, rest);
  piece->size = size;
  remainder->before = piece;
  remainder->after = piece->after;
  if (piece->after) piece->after->before = remainder;
  piece->after = remainder;
  put(remainder);
  return piece;
}

Piece *Allocator::State::find(Pool &pool, uint64_t size, bool small) {
  const auto found = pool.free[small].lower_bound({size, nullptr});
  return found == pool.free[small].end() ? nullptr : cut(found->second, size);
}

Piece *Allocator::State::find_flushed(Pool &pool, uint64_t size, bool small) {
  if (Piece *piece = find(pool, size, small)) return piece;
  flush_bins(pool);
  return find(pool, size, small);
}

void Allocator::State::add_user(Piece *piece, Stream &stream) {
  if (!piece->users) piece->users = std::make_unique<std::vector<Ref<Stream>>>();
  const Ref<Stream> user(&stream);
  if (std::find(piece->users->begin(), piece->users->end(), user) == piece->users->end()) piece->users->push_back(user);
}

}  // namespace dougong
