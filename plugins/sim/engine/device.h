// A simulated device: memory, queues, and the copies between them and the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "arena.h"
#include "faults.h"
#include "pinned.h"
#include "queue.h"

namespace sim {

struct DeviceOptions {
  Arena::Options memory{size_t(4) << 30, 64, false};
  Delays delays;
  bool one_at_a_time = false;  // one unit does the work of all queues
  bool slow_copies = false;    // 100 microseconds, and 1 GB/s
};

class Device {
 public:
  static dg_status_t create(const DeviceOptions &options, std::unique_ptr<Device> *out_device);
  ~Device();  // waits for the work

  Arena &memory() { return *memory_; }
  std::shared_ptr<Queue> make_queue();             // [any thread]
  void close_queue(std::shared_ptr<Queue> queue);  // its work is still done; does not wait. [any thread]
  dg_status_t synchronize();                       // all queues, closed ones included. [any thread]
  dg_status_t check();                             // DEVICE_LOST, or OK. [any thread]
  void lose(const std::string &reason) { shared_->lose(reason); }

  // A place in device memory.
  struct Place {
    Device &device;
    const void *handle;
    uint64_t offset;
  };

  // Copies and fills on a queue of this device. Pageable host memory, of which `pinned` knows nothing, is done with
  // when they return; a copy to it waits for the queue, and reports its failure. [one thread per queue]
  dg_status_t copy_from_host(Queue &queue, const Place &to, const void *from, size_t size, const PinnedMemory &pinned,
                             Fault fault);
  dg_status_t copy_to_host(Queue &queue, void *to, const Place &from, size_t size, const PinnedMemory &pinned,
                           Fault fault);
  dg_status_t copy(Queue &queue, const Place &to, const Place &from, size_t size, Fault fault);
  dg_status_t fill(Queue &queue, const Place &to, const void *pattern, size_t pattern_size, size_t count, Fault fault);

 private:
  explicit Device(const DeviceOptions &options);
  void reap();
  Queue::Work moving(char *to, const char *from, size_t size, Fault fault) const;

  const DeviceOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<Arena> memory_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Queue>> queues_;
  std::shared_ptr<Report> failure_;  // of a queue that is no more
  uint64_t queues_made_ = 0;
};

// What a queue does instead of `work` when `fault` says so.
Queue::Work with_fault(Queue::Work work, Fault fault);

}  // namespace sim
