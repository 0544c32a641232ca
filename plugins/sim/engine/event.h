// Marks in the work of a queue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "report.h"

namespace sim {

// One record of an event: done when the queue has come there. Shared by the event, the queue and whoever waits, so that
// an event may be recorded again or destroyed meanwhile. [any thread]
class Recording {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void complete(std::shared_ptr<Report> report);
  bool done(Time *out_time = nullptr);
  void wait();
  dg_status_t query();  // NOT_READY, or how the work before it went

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Time time_{};
  std::shared_ptr<Report> report_;
};

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  void set(std::shared_ptr<Recording> recording);
  std::shared_ptr<Recording> get();  // null if nothing was ever recorded
  dg_status_t query();
  dg_status_t synchronize();
  dg_status_t elapsed_to(Event &end, double *out_milliseconds);

 private:
  const bool timing_;
  std::mutex mutex_;
  std::shared_ptr<Recording> recording_;
};

}  // namespace sim
