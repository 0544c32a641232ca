// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.h"

namespace sim {

namespace {

// What is given back in pieces of this size returns to the host.
constexpr size_t large = size_t(1) << 20;
constexpr size_t page = 4096;

}  // namespace

dg_status_t Arena::create(const Options &options, std::unique_ptr<Arena> *out_arena) {
  std::unique_ptr<Arena> arena(new Arena(options));
  const dg_status_t status = arena->map();
  if (status != DG_STATUS_OK) return status;
  arena->free_[0] = arena->free_bytes_ = options.capacity;
  *out_arena = std::move(arena);
  return DG_STATUS_OK;
}

dg_status_t Arena::map() {
  const size_t capacity = options_.capacity;
  file_ = memfd_create("simulated device memory", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, off_t(capacity)) == 0) {
    void *host = mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host != MAP_FAILED) host_ = static_cast<char *>(host);
    void *worker = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (worker != MAP_FAILED) worker_ = static_cast<char *>(worker);
  }
  if (!host_ || !worker_)
    return fail(DG_STATUS_OUT_OF_MEMORY, "the host cannot map %zu bytes for a simulated device: %s", capacity,
                std::strerror(errno));
  madvise(worker_, capacity, MADV_DONTFORK);  // a child has no workers, and must not write into its parent's memory
  return DG_STATUS_OK;
}

Arena::~Arena() {
  if (host_) munmap(host_, options_.capacity);
  if (worker_) munmap(worker_, options_.capacity);
  if (file_ >= 0) close(file_);
}

size_t Arena::rounded(size_t size) const { return (size + options_.alignment - 1) & ~(options_.alignment - 1); }

// Ids are far apart: an id with an offset added to it is no other id.
uintptr_t Arena::make_handle(size_t offset) {
  return options_.opaque ? next_id_++ << 32 | 1 : reinterpret_cast<uintptr_t>(host_) + offset;
}

dg_status_t Arena::allocate(size_t size, void **out_handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const size_t needed = size <= options_.capacity ? rounded(size) : size;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, available] = *range;
    if (available < needed) continue;
    free_.erase(range);
    if (available > needed) free_[offset + needed] = available - needed;
    free_bytes_ -= needed;
    const uintptr_t handle = make_handle(offset);
    live_[handle] = {offset, size};
    *out_handle = reinterpret_cast<void *>(handle);
    return DG_STATUS_OK;
  }
  return fail(DG_STATUS_OUT_OF_MEMORY,
              "%zu bytes of device memory were asked for; %zu of %zu are free, not all of them in one piece", size,
              free_bytes_, options_.capacity);
}

dg_status_t Arena::free(void *handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto block = live_.find(reinterpret_cast<uintptr_t>(handle));
  if (block == live_.end())
    return fail(DG_STATUS_INVALID_ARGUMENT,
                "%p is no live allocation of this device: give back each handle once, as it was given out", handle);
  release(block->second.offset, rounded(block->second.size));
  live_.erase(block);
  return DG_STATUS_OK;
}

void Arena::release(size_t offset, size_t size) {
  const size_t hole = (offset + page - 1) & ~(page - 1);
  if (size >= large)
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(hole), off_t(size - (hole - offset)));
  free_bytes_ += size;
  const auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

size_t Arena::free_bytes() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return free_bytes_;
}

// The allocation that handle + offset lies in; the offset becomes one from its begin. Addresses may be added to, ids
// may not.
const Arena::Block *Arena::find(uintptr_t handle, uint64_t *offset) const {
  if (options_.opaque) {
    const auto exact = live_.find(handle);
    return exact == live_.end() ? nullptr : &exact->second;
  }
  auto after = live_.upper_bound(handle + *offset);
  if (after == live_.begin()) return nullptr;
  const auto &[start, block] = *std::prev(after);
  *offset = handle + *offset - start;
  return &block;
}

dg_status_t Arena::resolve(const void *handle, uint64_t offset, uint64_t size, char **out_address) {
  const std::lock_guard<std::mutex> guard(mutex_);
  uint64_t within = offset;
  const Block *block = find(reinterpret_cast<uintptr_t>(handle), &within);
  if (!block || within > block->size || size > block->size - within)
    return fail(DG_STATUS_INVALID_ARGUMENT,
                "%llu bytes at handle %p + %llu do not lie within a live allocation of this device",
                static_cast<unsigned long long>(size), handle, static_cast<unsigned long long>(offset));
  *out_address = worker_ + block->offset + within;
  return DG_STATUS_OK;
}

}  // namespace sim
