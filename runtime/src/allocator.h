// The caching allocator of a device, ordered by streams.
//
// A block that is given back may still be in use by work queued on its stream. It is handed out again at once to the
// same stream, where that work comes first, and to another stream only after that work is known to be done.
//
// DOUGONG_ALLOCATOR=poison fills each block with 0xFF when it is handed out. DOUGONG_ALLOCATOR=canary puts guard bytes
// before and behind each block and checks them when it is given back: a block that was written outside of its bounds is
// named on stderr, and by an INTERNAL error at the device's next allocation or synchronisation. Both are for finding
// faults: they are slow. Read when the device is opened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ref.h"

namespace dougong {

class Device;
class Stream;

// A piece of device memory: `size` bytes at `offset` within the plugin's allocation `handle`.
struct Block {
  void *handle = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;         // as cut: at least what was asked for
  Stream *stream = nullptr;  // where it was allocated; kept alive by the allocator
};

struct MemoryStats {
  uint64_t allocated = 0, reserved = 0, peak_allocated = 0, peak_reserved = 0;  // bytes
  uint64_t allocations = 0, frees = 0;                                          // blocks handed out, given back
  uint64_t device_allocations = 0, device_frees = 0;                            // calls of the plugin
  uint64_t retries = 0;  // times that the cache was emptied because the plugin had no memory left
};

class Allocator {
 public:
  explicit Allocator(Device &device);
  ~Allocator();

  // `size` > 0. Throws OUT_OF_MEMORY naming requested, reserved, allocated and free bytes, after emptying the cache and
  // trying again. Thread-safe.
  Block *allocate(uint64_t size, Stream &stream);
  void free(Block *block);
  // Work on this other stream uses the block too: it is not reused before that work is done.
  void record_stream(Block *block, Stream &stream);

  void empty_cache();
  MemoryStats stats() const;
  void reset_peak();
  // One entry a segment, for people and tools: JSON text.
  std::string snapshot() const;

  // A fork finds the allocator in a whole state.
  void lock_for_fork();
  void unlock_after_fork();

 private:
  Block *allocate_slowly(uint64_t size, Stream &stream);
  void free_slowly(Block *block);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dougong
