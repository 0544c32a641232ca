// Host memory that a device reads and writes by itself: tensors on the CPU from which copies go on after the call.
//
// Blocks come from the plugin and are kept for reuse. A block that is given back is handed out again only when the
// copies that were queued on it are done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor.h"

namespace dougong {

class Stream;

// The tensor's values in such memory of the device's plugin, without a history; the tensor itself if it is there. An
// ordinary tensor where the plugin has no such memory. The tensor must be on cpu:0.
Tensor pin(const Tensor &tensor, Device &device);
bool is_pinned(const Tensor &tensor);

struct PinnedStats {
  uint64_t blocks = 0, bytes = 0, free_blocks = 0;  // all of a device; those that are waiting for reuse
};
PinnedStats pinned_stats(Device &device);

// While one lives, this thread's copies between pinned memory and a device need not be done when the call returns. The
// memory may then not be written, or read, before the stream has come there.
class NonBlocking {
 public:
  explicit NonBlocking(bool wanted);
  ~NonBlocking();

 private:
  bool before_;
};

// Called after a copy was queued: waits for it if the host memory is pinned and the copy must be done.
void finish_host_copy(Device &device, const void *host, Stream &stream);

}  // namespace dougong
