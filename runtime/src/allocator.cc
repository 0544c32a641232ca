// Two levels. A small block that is given back lies in the bin of its size class and is handed out again from there in a
// few nanoseconds. When a bin is empty, the bins are emptied into the free pieces of the segments, neighbours are joined,
// and the best fit is cut. Segments are what the plugin allocates; each belongs to one stream.
//
// Two locks. `fast` guards the structures and is held for moments. `slow` is taken first by whoever calls the plugin, with
// the interpreter's lock released, and `fast` is never held while the plugin works.
// SPDX-License-Identifier: Apache-2.0
#include "allocator.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "device.h"
#include "loader_checks.h"
#include "stream.h"

namespace dougong {

namespace {

constexpr uint64_t kibi = 1024, mebi = 1024 * kibi;
constexpr uint64_t small_limit = 1 * mebi;      // blocks up to here are small
constexpr uint64_t small_segment = 2 * mebi;    // and are cut from segments of this size
constexpr uint64_t large_segment = 20 * mebi;   // where blocks of up to half of it are cut from
constexpr uint64_t large_granule = 64 * kibi;   // large blocks are multiples of it
constexpr uint64_t cache_allowance = 256 * mebi;  // what may be reserved beyond twice the most that was ever in use
constexpr uint64_t size_limit = uint64_t(1) << 62;
constexpr int fine_classes = 16;  // one a granule; then eight a doubling
constexpr int max_classes = fine_classes + 8 * 20;

class SpinLock {
 public:
  void lock() {
    for (int tries = 0; busy_.test_and_set(std::memory_order_acquire); ++tries)
      if (tries > 100) sched_yield();
  }
  void unlock() { busy_.clear(std::memory_order_release); }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};
using Fast = std::lock_guard<SpinLock>;

struct Pool;
struct Piece;

struct Segment {
  void *handle;
  uint64_t size;
  Pool *pool;
  bool small;
  Piece *first;
};

// A block, handed out or free. Pieces of a segment form a list in the order of their offsets.
struct Piece : Block {
  Segment *segment = nullptr;
  Piece *before = nullptr, *after = nullptr;
  Piece *next = nullptr;    // in a bin
  uint64_t requested = 0;   // bytes, while handed out
  int bin = -1;             // where it goes when it is given back, or -1: it is joined with its neighbours
  bool in_set = false;      // among the pool's free pieces
  std::unique_ptr<std::vector<Ref<Stream>>> users;  // other streams that work on it
};

// The memory of one stream.
struct Pool {
  explicit Pool(Stream &stream) : stream(&stream) {}
  Ref<Stream> stream;
  Piece *bins[max_classes] = {};
  std::set<std::pair<uint64_t, Piece *>> free[2];  // large and small pieces, by size
};

// A block that was given back while other streams may still work on it.
struct Pending {
  Piece *piece;
  std::vector<Ref<Event>> events;
};

enum class Mode { normal, poison, canary };

Mode read_mode() {
  const char *text = std::getenv("DOUGONG_ALLOCATOR");
  if (!text || !*text) return Mode::normal;
  if (std::strcmp(text, "poison") == 0) return Mode::poison;
  if (std::strcmp(text, "canary") == 0) return Mode::canary;
  fail(DG_STATUS_INVALID_ARGUMENT, "DOUGONG_ALLOCATOR: wanted poison or canary, found %s", quoted(text).c_str());
}

uint64_t round_up(uint64_t size, uint64_t step) { return (size + step - 1) / step * step; }

constexpr unsigned char guard_byte = 0xC9;

}  // namespace

struct Allocator::State {
  explicit State(Device &device) : device(device) {
    granule = std::max<uint64_t>(64, device.properties().alignment);
    while (uint64_t(1) << granule_bits < granule) ++granule_bits;
    guard = std::max<uint64_t>(granule, 256);
  }

  Device &device;
  const Mode mode = read_mode();
  uint64_t granule = 0, guard = 0;
  uint64_t high_water = 0;  // the most bytes that were ever handed out at a time
  int granule_bits = 0;
  SpinLock fast;
  std::mutex slow;
  MemoryStats stats;
  std::vector<std::unique_ptr<Pool>> pools;
  std::vector<std::unique_ptr<Segment>> segments;
  std::vector<Pending> pending;
  Piece *spares = nullptr;

  // The size class of a small block, and the size of that class.
  int size_class(uint64_t size, uint64_t *rounded) const {
    const uint64_t granules = (size + granule - 1) >> granule_bits;
    if (granules <= fine_classes) {
      *rounded = granules << granule_bits;
      return int(granules) - 1;
    }
    const int bits = 60 - __builtin_clzll(granules - 1);  // of a step: an eighth of the power of two below
    const uint64_t steps = (granules - 1) >> bits;        // 8 .. 15
    *rounded = (steps + 1) << bits << granule_bits;
    return fine_classes + (bits - 1) * 8 + int(steps) - 8;
  }

  uint64_t piece_size(uint64_t size) const {
    uint64_t rounded = 0;
    if (size > small_limit) return round_up(size, std::max(granule, large_granule));
    size_class(size, &rounded);
    return rounded;
  }

  Block *hand_out(Piece *piece, uint64_t requested) {
    piece->requested = requested;
    stats.allocated += piece->size;
    ++stats.allocations;
    if (stats.allocated > stats.peak_allocated) {
      stats.peak_allocated = stats.allocated;
      high_water = std::max(high_water, stats.allocated);
    }
    return piece;
  }

  Pool &pool_of(Stream &stream);
  Piece *new_piece(Segment *segment, uint64_t offset, uint64_t size);
  void put(Piece *piece);
  void take(Piece *piece);
  Piece *join(Piece *piece);
  void absorb(Piece *piece, Piece *gone);
  void add_user(Piece *piece, Stream &stream);
  void flush_bins(Pool &pool);
  Piece *cut(Piece *piece, uint64_t size);
  Piece *find(Pool &pool, uint64_t size, bool small);
  Piece *find_flushed(Pool &pool, uint64_t size, bool small);

  // With `slow` held.
  Piece *allocate(Pool &pool, uint64_t size);
  bool reap();
  template <class Wanted>
  std::vector<Segment *> take_unused(Wanted wanted);
  bool is_idle(Pool &pool);
  bool adopt_idle(Pool &pool);
  Piece *new_segment(Pool &pool, uint64_t size, bool small);
  Piece *grow(Pool &pool, uint64_t size, bool small);
  Piece *borrow(uint64_t size, bool small);
  void synchronize();
  void release_cache();
  void prune_pools();
  void free_segment(Segment *segment);
  void give_back(Piece *piece, std::vector<Ref<Stream>> users);
  [[noreturn]] void raise_exhausted(uint64_t size);

  void fill(Block *block, unsigned char byte, uint64_t offset, uint64_t size, Stream &stream);
  void check_guard(Piece *piece, const char *side, uint64_t offset);
  void remove_guards(Piece *piece);
};

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
  if (!handle) fail(DG_STATUS_INTERNAL, "%s: memory_allocate gave a null handle with DG_STATUS_OK", device.name().c_str());
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
    const bool used = std::any_of(segments.begin(), segments.end(),
                                  [&pool](const std::unique_ptr<Segment> &segment) { return segment->pool == pool.get(); });
    if (!used && pool->stream->use_count() == 1) gone.push_back(std::move(pool));
  }
  pools.erase(std::remove(pools.begin(), pools.end(), nullptr), pools.end());
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
  if (!piece && stats.reserved > 2 * high_water + cache_allowance) release_cache();
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
  uint64_t free_bytes = 0, total = 0;
  const bool known = device.api().memory_get_info && device.api().memory_get_info(device.handle(), &free_bytes, &total) == DG_STATUS_OK;
  fail(DG_STATUS_OUT_OF_MEMORY,
       "%s is out of memory: requested %llu bytes; allocated %llu, reserved %llu, free on the device %s, after the cache "
       "was emptied. Release tensors, or ask for less",
       device.name().c_str(), static_cast<unsigned long long>(size), static_cast<unsigned long long>(stats.allocated),
       static_cast<unsigned long long>(stats.reserved),
       known ? format("%llu of %llu", static_cast<unsigned long long>(free_bytes), static_cast<unsigned long long>(total)).c_str()
             : "unknown");
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

void Allocator::State::add_user(Piece *piece, Stream &stream) {
  if (!piece->users) piece->users = std::make_unique<std::vector<Ref<Stream>>>();
  const Ref<Stream> user(&stream);
  if (std::find(piece->users->begin(), piece->users->end(), user) == piece->users->end()) piece->users->push_back(user);
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
  const Error error(DG_STATUS_INTERNAL,
                    format("%s: memory was written outside of its block: byte %lld of the guard %s the block of %llu bytes at "
                           "offset %llu of the allocation %p is 0x%02x",
                           device.name().c_str(), static_cast<long long>(bad - bytes.begin()), side,
                           static_cast<unsigned long long>(piece->requested),
                           static_cast<unsigned long long>(piece->offset), piece->handle, *bad));
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
    fail(DG_STATUS_INVALID_ARGUMENT, "memory of %s was asked for on a stream of %s", s.device.name().c_str(), stream.device().name().c_str());
  const Unlocked unlocked(!s.device.synchronous());
  std::unique_lock<std::mutex> guard(s.slow);
  if (s.mode != Mode::normal) s.device.throw_noted();
  if (size > size_limit) s.raise_exhausted(size);
  if (!stream.pool_.load()) {
    s.prune_pools();
    const Fast fast(s.fast);
    // A synchronous device has one order of work, whatever streams there are.
    stream.pool_.store(&s.pool_of(s.device.synchronous() ? s.device.default_stream() : stream), std::memory_order_release);
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
  s.give_back(piece, std::move(users));
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
      text += format("%s{\"offset\": %llu, \"size\": %llu, \"requested\": %llu, \"state\": \"%s\"}", piece->before ? ", " : "",
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
