// Getting segments from the plugin and giving them back. Everything here happens with `slow` held.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "allocator_state.h"

namespace dougong {

// Takes back what other streams have finished with. True if that was something.
bool Allocator::State::reap() {
  std::vector<Pending> waiting;
  {
    const Fast guard(fast);
    waiting.swap(pending);
  }
  std::vector<Pending> still;
  const size_t count = waiting.size();
  for (Pending &entry : waiting) {
    bool done = true;
    for (const Ref<Event> &event : entry.events) {
      try {
        done = done && event->query();
      } catch (const Error &error) {
        device.note_failure(error);  // the work ended, badly: whoever waits for it next is told
      }
    }
    if (!done) {
      still.push_back(std::move(entry));
      continue;
    }
    const Fast guard(fast);
    join(entry.piece);
  }
  const bool found = still.size() < count;
  const Fast guard(fast);
  std::move(still.begin(), still.end(), std::back_inserter(pending));
  return found;
}

// Takes the wholly free segments for which `wanted` holds out of the free pieces.
template <class Wanted>
std::vector<Segment *> Allocator::State::take_unused(Wanted wanted) {
  const Fast guard(fast);
  for (const auto &pool : pools) flush_bins(*pool);
  std::vector<Segment *> result;
  for (const auto &segment : segments) {
    if (!segment->first->in_set || segment->first->after || !wanted(*segment)) continue;
    take(segment->first);
    result.push_back(segment.get());
  }
  return result;
}

bool Allocator::State::is_idle(Pool &pool) {
  try {
    return pool.stream->query();
  } catch (const Error &error) {
    device.note_failure(error);
    return false;
  }
}

// Takes over the wholly free segments of streams that have nothing to do. True if there were some. They are taken out
// before the streams are asked, so that no later work can come in between.
bool Allocator::State::adopt_idle(Pool &pool) {
  const auto candidates = take_unused([&pool](const Segment &segment) { return segment.pool != &pool; });
  std::vector<Pool *> idle;
  for (const auto &other : pools)
    if (!candidates.empty() && other.get() != &pool && is_idle(*other)) idle.push_back(other.get());
  const Fast guard(fast);
  bool found = false;
  for (Segment *segment : candidates) {
    if (std::find(idle.begin(), idle.end(), segment->pool) != idle.end()) {
      segment->pool = &pool;
      found = true;
    }
    put(segment->first);
  }
  return found;
}

// A piece of another stream, or a small piece of a large segment, when nothing else is left.
Piece *Allocator::State::borrow(uint64_t size, bool small) {
  for (const auto &pool : pools) {
    Piece *piece;
    {
      const Fast guard(fast);
      piece = find_flushed(*pool, size, small);
      if (!piece && small) piece = find(*pool, size, false);
    }
    if (!piece) continue;
    try {
      pool->stream->synchronize();
    } catch (const Error &error) {
      device.note_failure(error);
    }
    return piece;
  }
  return nullptr;
}

// A new segment as one free piece, or null if the plugin has no memory left.
Piece *Allocator::State::new_segment(Pool &pool, uint64_t size, bool small) {
  void *handle = nullptr;
  const dg_status_t status = device.api().memory_allocate(device.handle(), DG_MEMORY_DEVICE, size, &handle);
  if (status == DG_STATUS_OUT_OF_MEMORY) return nullptr;
  device.plugin().check(status, "memory_allocate");
  if (!handle)
    fail(DG_STATUS_INTERNAL, "%s: memory_allocate gave a null handle with DG_STATUS_OK", device.name().c_str());
  if (!device.has(DG_DEVICE_OPAQUE_MEMORY) && reinterpret_cast<uintptr_t>(handle) % device.properties().alignment)
    fail(DG_STATUS_INTERNAL, "%s: memory_allocate gave the address %p, which is not aligned to the device's %llu bytes",
         device.name().c_str(), handle, static_cast<unsigned long long>(device.properties().alignment));
  const Fast guard(fast);
  segments.emplace_back(new Segment{handle, size, &pool, small, nullptr});
  Segment *segment = segments.back().get();
  segment->first = new_piece(segment, 0, size);
  put(segment->first);
  ++stats.device_allocations;
  stats.reserved += size;
  stats.peak_reserved = std::max(stats.peak_reserved, stats.reserved);
  return segment->first;
}

Piece *Allocator::State::grow(Pool &pool, uint64_t size, bool small) {
  const uint64_t usual = small ? small_segment : size <= large_segment / 2 ? large_segment : round_up(size, 2 * mebi);
  const uint64_t wanted = round_up(std::max(usual, size), granule);
  Piece *piece = new_segment(pool, wanted, small);
  if (!piece && wanted > size) piece = new_segment(pool, size, small);
  if (!piece) return nullptr;
  const Fast guard(fast);
  return piece->in_set && piece->size >= size ? cut(piece, size) : find(pool, size, small);
}

// Of a segment that is in no list any more, and that no work uses.
void Allocator::State::free_segment(Segment *segment) {
  {
    const Fast guard(fast);
    segment->first->next = spares;
    spares = segment->first;
    stats.reserved -= segment->size;
    ++stats.device_frees;
  }
  try {
    device.plugin().check(device.api().memory_free(device.handle(), DG_MEMORY_DEVICE, segment->handle), "memory_free");
  } catch (const Error &error) {
    device.note_failure(error);
  }
}

void Allocator::State::synchronize() {
  try {
    device.synchronize();
  } catch (const Error &error) {
    device.note_failure(error);
  }
}

// Waits for all work, then gives every wholly free segment back to the plugin.
void Allocator::State::release_cache() {
  synchronize();
  reap();
  const auto unused = take_unused([](const Segment &) { return true; });
  if (!device.synchronous() && !unused.empty()) synchronize();
  for (Segment *segment : unused) free_segment(segment);
  const Fast guard(fast);
  const auto is_unused = [&](const std::unique_ptr<Segment> &segment) {
    return std::find(unused.begin(), unused.end(), segment.get()) != unused.end();
  };
  segments.erase(std::remove_if(segments.begin(), segments.end(), is_unused), segments.end());
}

// Forgets streams that nobody else knows and that have no memory here.
void Allocator::State::prune_pools() {
  std::vector<std::unique_ptr<Pool>> gone;  // outlives the lock: a stream's end calls the plugin
  const Fast guard(fast);
  for (auto &pool : pools) {
    const bool used = std::any_of(segments.begin(), segments.end(), [&pool](const std::unique_ptr<Segment> &segment) {
      return segment->pool == pool.get();
    });
    if (!used && pool->stream->use_count() == 1) gone.push_back(std::move(pool));
  }
  pools.erase(std::remove(pools.begin(), pools.end(), nullptr), pools.end());
}

bool Allocator::State::cache_is_large() {
  const Fast guard(fast);
  return stats.reserved > 2 * high_water + cache_allowance;
}

Piece *Allocator::State::allocate(Pool &pool, uint64_t size) {
  const bool small = size <= small_limit;
  const auto look = [&]() {
    const Fast guard(fast);
    return find_flushed(pool, size, small);
  };
  Piece *piece = look();
  if (!piece && reap()) piece = look();
  if (!piece && adopt_idle(pool)) piece = look();
  if (!piece && cache_is_large()) release_cache();
  if (!piece) piece = grow(pool, size, small);
  if (piece) return piece;
  release_cache();
  {
    const Fast guard(fast);
    ++stats.retries;
  }
  piece = look();
  if (!piece) piece = grow(pool, size, small);
  return piece ? piece : borrow(size, small);
}

void Allocator::State::raise_exhausted(uint64_t size) {
  const dg_device_api_t &api = device.api();
  uint64_t free_bytes = 0, total = 0;
  const bool known = api.memory_get_info && api.memory_get_info(device.handle(), &free_bytes, &total) == DG_STATUS_OK;
  const std::string left = known ? std::to_string(free_bytes) + " of " + std::to_string(total) : "unknown";
  std::unique_lock<SpinLock> guard(fast);
  const uint64_t allocated = stats.allocated, reserved = stats.reserved;
  guard.unlock();
  fail(DG_STATUS_OUT_OF_MEMORY,
       "%s is out of memory: requested %llu bytes; allocated %llu, reserved %llu, free on the device %s, after the "
       "cache "
       "was emptied. Release tensors, or ask for less",
       device.name().c_str(), static_cast<unsigned long long>(size), static_cast<unsigned long long>(allocated),
       static_cast<unsigned long long>(reserved), left.c_str());
}

// With no lock held: events are recorded on the streams that used the piece, and it waits for them.
void Allocator::State::give_back(Piece *piece, std::vector<Ref<Stream>> users) {
  Pending entry{piece, {}};
  try {
    for (const Ref<Stream> &user : users) {
      entry.events.push_back(make_ref<Event>(device, false));
      entry.events.back()->record(*user);
    }
  } catch (const Error &error) {
    device.note_failure(error);
    return;  // nobody can say when it is free: it is not used again
  }
  const Fast guard(fast);
  pending.push_back(std::move(entry));
}

}  // namespace dougong
