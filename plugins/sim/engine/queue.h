// A stream of work: one thread that does it in order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <random>
#include <thread>

#include "event.h"
#include "report.h"

namespace sim {

// Before a piece of work the worker sometimes waits: one time in `one_in` (0: never), up to `most` microseconds.
struct Delays {
  uint64_t seed = 0;
  uint32_t most = 50;
  uint32_t one_in = 16;
};

// What all queues of a device share.
class Shared {
 public:
  explicit Shared(bool one_at_a_time) : one_at_a_time_(one_at_a_time) {}

  // From now on no work is done, and every query and synchronize says so. The first reason stays. [any thread]
  void lose(const std::string &reason);
  std::shared_ptr<Report> lost();  // null while the device is well

 private:
  friend class Queue;
  const bool one_at_a_time_;
  std::mutex unit_;  // held round each piece of work, where there is one unit for all queues
  std::atomic<bool> is_lost_{false};
  std::mutex mutex_;
  std::shared_ptr<Report> lost_;
};

class Queue {
 public:
  // Touches device or pinned memory. A failure leaves a sentence in last_error() of the worker's thread.
  using Work = std::function<dg_status_t()>;
  // Gets OK, or why the queue failed before it came there.
  using Callback = std::function<void(dg_status_t)>;
  using Position = uint64_t;

  Queue(std::shared_ptr<Shared> shared, const Delays &delays);
  ~Queue();  // finishes the work
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  // [one thread per queue]: the order of the calls is the order of the work. Each returns at once.
  Position submit(Work work);
  void add_callback(Callback callback);
  std::shared_ptr<Recording> record();
  void wait_for(std::shared_ptr<Recording> recording);  // null: nothing to wait for

  // [any thread]
  dg_status_t query();                        // NOT_READY, or how the work went
  dg_status_t synchronize();                  // waits for the work queued before the call
  dg_status_t wait_until(Position position);  // waits for that piece of work, and those before it
  void close();                               // no more work comes
  void join();                                // closes, and waits for the worker to end
  bool finished();                            // closed, and all work done
  std::shared_ptr<Report> take_failure();     // what nobody asked for yet, or null

 private:
  struct Task {
    bool touches_memory;
    Work run;
  };

  Position push(Task task);
  void work_off();
  void execute(const Task &task);
  void delay();
  void note_failure(dg_status_t status);
  dg_status_t outcome();
  std::shared_ptr<Report> pending_failure();

  const std::shared_ptr<Shared> shared_;
  const Delays delays_;
  std::mt19937_64 random_;  // the worker's
  std::mutex mutex_;
  std::condition_variable queued_changed_, done_changed_;
  std::deque<Task> tasks_;
  Position queued_ = 0, done_ = 0;
  bool closed_ = false;
  std::shared_ptr<Report> failure_;
  std::thread worker_;  // started by the first piece of work
};

}  // namespace sim
