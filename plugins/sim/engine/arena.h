// The memory of one device, which the host cannot touch.
//
// The same pages are mapped twice: at the addresses that the host is given, without any right of access, and at others
// that only the workers learn. Whoever follows a handle on the host dies of it, as with a real device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <map>
#include <memory>
#include <mutex>

namespace sim {

class Arena {
 public:
  struct Options {
    size_t capacity;   // bytes
    size_t alignment;  // of each allocation: a power of two, at most a page
    bool opaque;       // handles are numbers, not addresses
  };

  static dg_status_t create(const Options &options, std::unique_ptr<Arena> *out_arena);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  dg_status_t allocate(size_t size, void **out_handle);  // [any thread]
  dg_status_t free(void *handle);                        // [any thread]
  size_t capacity() const { return options_.capacity; }
  size_t free_bytes();

  // Where a worker finds the `size` bytes at handle + offset, which lie within one live allocation; else
  // INVALID_ARGUMENT. [any thread]
  dg_status_t resolve(const void *handle, uint64_t offset, uint64_t size, char **out_address);

 private:
  struct Block {
    size_t offset, size;  // size as it was asked for
  };

  explicit Arena(const Options &options) : options_(options) {}
  dg_status_t map();
  size_t rounded(size_t size) const;
  uintptr_t make_handle(size_t offset);
  void release(size_t offset, size_t size);
  const Block *find(uintptr_t handle, uint64_t *offset) const;

  const Options options_;
  char *host_ = nullptr;    // the addresses of handles: no access
  char *worker_ = nullptr;  // the same pages, for workers
  int file_ = -1;
  std::mutex mutex_;
  std::map<uintptr_t, Block> live_;  // by handle
  std::map<size_t, size_t> free_;    // size by offset; neighbours are joined
  size_t free_bytes_ = 0;
  uintptr_t next_id_ = 1;
};

}  // namespace sim
