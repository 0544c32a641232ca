// Host memory that copies may use after the call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <map>
#include <shared_mutex>

namespace sim {

class PinnedMemory {
 public:
  ~PinnedMemory();
  dg_status_t allocate(size_t size, void **out_address);  // [any thread]
  dg_status_t free(void *address);                        // [any thread]
  // All of it lies within one live block. [any thread]
  bool contains(const void *address, size_t size) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, size_t> live_;
};

}  // namespace sim
