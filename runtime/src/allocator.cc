// SPDX-License-Identifier: Apache-2.0
#include "allocator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator_state.h"
#include "loader_checks.h"

namespace dougong {

Mode read_mode() {
  const char *text = std::getenv("DOUGONG_ALLOCATOR");
  if (!text || !*text) return Mode::normal;
  if (std::strcmp(text, "poison") == 0) return Mode::poison;
  if (std::strcmp(text, "canary") == 0) return Mode::canary;
  fail(DG_STATUS_INVALID_ARGUMENT, "DOUGONG_ALLOCATOR: wanted poison or canary, found %s", quoted(text).c_str());
}

void Allocator::State::fill(Block *block, unsigned char byte, uint64_t offset, uint64_t size, Stream &stream) {
  device.fill(block->handle, offset, &byte, 1, size, stream);
}

void Allocator::State::check_guard(Piece *piece, const char *side, uint64_t offset) {
  std::vector<unsigned char> bytes(guard);
  device.copy_to_host(bytes.data(), piece->handle, offset, guard, *piece->stream);
  piece->stream->synchronize();
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte != guard_byte; });
  if (bad == bytes.end()) return;
  const Error error(
      DG_STATUS_INTERNAL,
      format("%s: memory was written outside of its block: byte %lld of the guard %s the block of %llu bytes at "
             "offset %llu of the allocation %p is 0x%02x",
             device.name().c_str(), static_cast<long long>(bad - bytes.begin()), side,
             static_cast<unsigned long long>(piece->requested), static_cast<unsigned long long>(piece->offset),
             piece->handle, *bad));
  std::fprintf(stderr, "dougong: %s\n", error.what());
  device.note_failure(error);
}

// Checks the guards of a block that comes back; the piece is what it was before it got them.
void Allocator::State::remove_guards(Piece *piece) {
  try {
    check_guard(piece, "before", piece->offset - guard);
    check_guard(piece, "behind", piece->offset + piece->size - 2 * guard);
  } catch (const Error &error) {
    device.note_failure(error);
  }
  piece->offset -= guard;
}

Allocator::Allocator(Device &device) : state_(new State(device)) {}
Allocator::~Allocator() = default;

Block *Allocator::allocate(uint64_t size, Stream &stream) {
  State &s = *state_;
  s.device.check_usable();
  void *pool = stream.pool_.load(std::memory_order_acquire);
  if (__builtin_expect(s.mode == Mode::normal && size <= small_limit && pool != nullptr, 1)) {
    uint64_t rounded;
    const int size_class = s.size_class(size, &rounded);
    const Fast guard(s.fast);
    Piece *&bin = static_cast<Pool *>(pool)->bins[size_class];
    if (Piece *piece = bin) {
      bin = piece->next;
      return s.hand_out(piece, size);
    }
  }
  return allocate_slowly(size, stream);
}

Block *Allocator::allocate_slowly(uint64_t size, Stream &stream) {
  State &s = *state_;
  if (&stream.device() != &s.device)
    fail(DG_STATUS_INVALID_ARGUMENT, "memory of %s was asked for on a stream of %s", s.device.name().c_str(),
         stream.device().name().c_str());
  const Unlocked unlocked(!s.device.synchronous());
  s.device.run_deferred();
  std::unique_lock<std::mutex> guard(s.slow);
  if (s.mode != Mode::normal) s.device.throw_noted();
  if (size > size_limit) s.raise_exhausted(size);
  if (!stream.pool_.load()) {
    s.prune_pools();
    const Fast fast(s.fast);
    // A synchronous device has one order of work, whatever streams there are.
    stream.pool_.store(&s.pool_of(s.device.synchronous() ? s.device.default_stream() : stream),
                       std::memory_order_release);
  }
  Pool &pool = *static_cast<Pool *>(stream.pool_.load());
  const uint64_t guards = s.mode == Mode::canary ? 2 * s.guard : 0;
  Piece *piece = s.allocate(pool, s.piece_size(size + guards));
  if (!piece) s.raise_exhausted(size);
  guard.unlock();
  Block *block;
  {
    const Fast fast(s.fast);
    uint64_t rounded = 0;
    const int bin = piece->size <= small_limit && s.mode == Mode::normal ? s.size_class(piece->size, &rounded) : -1;
    piece->bin = rounded == piece->size ? bin : -1;
    block = s.hand_out(piece, size);
    block->offset += guards / 2;
    block->stream = pool.stream.get();
    if (piece->segment->pool != &pool) s.add_user(piece, *pool.stream);
  }
  if (s.mode == Mode::normal) return block;
  if (guards) {
    s.fill(block, guard_byte, block->offset - s.guard, s.guard, stream);
    s.fill(block, guard_byte, block->offset + block->size - guards, s.guard, stream);
  }
  s.fill(block, 0xFF, block->offset, block->size - guards, stream);
  return block;
}

void Allocator::free(Block *block) {
  State &s = *state_;
  auto *piece = static_cast<Piece *>(block);
  if (__builtin_expect(piece->bin < 0 || piece->users || !s.device.plugin().usable(), 0)) return free_slowly(block);
  const Fast guard(s.fast);
  s.stats.allocated -= piece->size;
  ++s.stats.frees;
  Piece *&bin = piece->segment->pool->bins[piece->bin];
  piece->next = bin;
  bin = piece;
}

void Allocator::free_slowly(Block *block) {
  State &s = *state_;
  auto *piece = static_cast<Piece *>(block);
  if (!s.device.plugin().usable()) return;
  if (s.mode == Mode::canary) s.remove_guards(piece);
  std::vector<Ref<Stream>> users;
  {
    const Fast guard(s.fast);
    s.stats.allocated -= piece->size;
    ++s.stats.frees;
    if (!piece->users) {
      s.join(piece);
      return;
    }
    users = std::move(*piece->users);
    piece->users = nullptr;
  }
  s.device.run_or_defer([&s, piece, users = std::move(users)] { s.give_back(piece, users); });
}

void Allocator::record_stream(Block *block, Stream &stream) {
  if (&stream == block->stream || !stream.handle()) return;
  auto *piece = static_cast<Piece *>(block);
  const Fast guard(state_->fast);
  state_->add_user(piece, stream);
}

void Allocator::empty_cache() {
  state_->device.check_usable();
  const Unlocked unlocked(!state_->device.synchronous());
  std::lock_guard<std::mutex> guard(state_->slow);
  state_->release_cache();
}

MemoryStats Allocator::stats() const {
  const Fast guard(state_->fast);
  return state_->stats;
}

void Allocator::reset_peak() {
  const Fast guard(state_->fast);
  state_->stats.peak_allocated = state_->stats.allocated;
  state_->stats.peak_reserved = state_->stats.reserved;
}

std::string Allocator::snapshot() const {
  const Fast guard(state_->fast);
  for (const auto &pool : state_->pools) state_->flush_bins(*pool);
  std::string text = "[";
  for (const auto &segment : state_->segments) {
    text += format("%s{\"handle\": \"%p\", \"size\": %llu, \"small\": %s, \"stream\": \"%p\", \"blocks\": [",
                   text.size() > 1 ? ", " : "", segment->handle, static_cast<unsigned long long>(segment->size),
                   segment->small ? "true" : "false", static_cast<void *>(segment->pool->stream->handle()));
    for (const Piece *piece = segment->first; piece; piece = piece->after)
      text += format(
          "%s{\"offset\": %llu, \"size\": %llu, \"requested\": %llu, \"state\": \"%s\"}", piece->before ? ", " : "",
          static_cast<unsigned long long>(piece->offset), static_cast<unsigned long long>(piece->size),
          static_cast<unsigned long long>(piece->in_set ? 0 : piece->requested), piece->in_set ? "free" : "in use");
    text += "]}";
  }
  return text + "]";
}

void Allocator::lock_for_fork() {
  state_->slow.lock();
  state_->fast.lock();
}

void Allocator::unlock_after_fork() {
  state_->fast.unlock();
  state_->slow.unlock();
}

}  // namespace dougong
