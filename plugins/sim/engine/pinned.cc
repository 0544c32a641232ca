// SPDX-License-Identifier: Apache-2.0
#include "pinned.h"

#include <cstdlib>
#include <mutex>

#include "error.h"

namespace sim {

PinnedMemory::~PinnedMemory() {
  for (const auto &block : live_) std::free(reinterpret_cast<void *>(block.first));
}

dg_status_t PinnedMemory::allocate(size_t size, void **out_address) {
  void *address = nullptr;
  if (posix_memalign(&address, 64, size) != 0)
    return fail(DG_STATUS_OUT_OF_MEMORY, "the host has no %zu bytes of memory left to pin", size);
  const std::lock_guard<std::shared_mutex> guard(mutex_);
  live_[reinterpret_cast<uintptr_t>(address)] = size;
  *out_address = address;
  return DG_STATUS_OK;
}

dg_status_t PinnedMemory::free(void *address) {
  const std::lock_guard<std::shared_mutex> guard(mutex_);
  if (live_.erase(reinterpret_cast<uintptr_t>(address)) == 0)
    return fail(DG_STATUS_INVALID_ARGUMENT, "%p is no live block of pinned memory: give back each block once", address);
  std::free(address);
  return DG_STATUS_OK;
}

bool PinnedMemory::contains(const void *address, size_t size) const {
  const std::shared_lock<std::shared_mutex> guard(mutex_);
  const uintptr_t start = reinterpret_cast<uintptr_t>(address);
  const auto after = live_.upper_bound(start);
  if (after == live_.begin()) return false;
  const auto &[block, block_size] = *std::prev(after);
  return start - block <= block_size && size <= block_size - (start - block);
}

}  // namespace sim
