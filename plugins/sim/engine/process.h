// What the engine knows of the process that it lives in: forks and the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <mutex>
#include <shared_mutex>

namespace sim {

// OK while devices can be used. INVALID_ARGUMENT in a child that was forked after watch_process(): it has no workers;
// ABORTED once the process exits: they stand still. [any thread]
dg_status_t check_process();

// Held by a worker while it touches memory. When the process exits, the end waits for whoever is inside, and whoever
// comes later stands still, so that no worker runs on while the process is taken apart.
class Busy {
 public:
  Busy();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

// Prepares this process. Called before the first worker starts.
void watch_process();

}  // namespace sim
