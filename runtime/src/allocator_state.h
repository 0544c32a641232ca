// How the allocator keeps its memory.
//
// Two levels. A small block that is given back lies in the bin of its size class and is handed out again from there in
// a few nanoseconds. When a bin is empty, the bins are emptied into the free pieces of the segments, neighbours are
// joined, and the best fit is cut. Segments are what the plugin allocates; each belongs to one stream.
//
// Two locks. `fast` guards the structures and is held for moments. `slow` is taken first by whoever calls the plugin,
// with the interpreter's lock released, and `fast` is never held while the plugin works. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator.h"
#include "device.h"
#include "stream.h"

namespace dougong {

constexpr uint64_t kibi = 1024, mebi = 1024 * kibi;
constexpr uint64_t small_limit = 1 * mebi;        // blocks up to here are small
constexpr uint64_t small_segment = 2 * mebi;      // and are cut from segments of this size
constexpr uint64_t large_segment = 20 * mebi;     // where blocks of up to half of it are cut from
constexpr uint64_t large_granule = 64 * kibi;     // large blocks are multiples of it
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
  Piece *next = nullptr;   // in a bin
  uint64_t requested = 0;  // bytes, while handed out
  int bin = -1;            // where it goes when it is given back, or -1: it is joined with its neighbours
  bool in_set = false;     // among the pool's free pieces
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

// What DOUGONG_ALLOCATOR asks for.
Mode read_mode();

inline uint64_t round_up(uint64_t size, uint64_t step) { return (size + step - 1) / step * step; }

constexpr unsigned char guard_byte = 0xC9;

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

  // With `fast` held.
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
  bool cache_is_large();
  void prune_pools();
  void free_segment(Segment *segment);
  void give_back(Piece *piece, std::vector<Ref<Stream>> users);
  [[noreturn]] void raise_exhausted(uint64_t size);

  // The modes for finding faults.
  void fill(Block *block, unsigned char byte, uint64_t offset, uint64_t size, Stream &stream);
  void check_guard(Piece *piece, const char *side, uint64_t offset);
  void remove_guards(Piece *piece);
};

}  // namespace dougong
