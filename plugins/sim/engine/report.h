// A failure of queued work, on its way to whoever asks first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "error.h"

namespace sim {

// Shared by the queue on which the work failed and by the events that were recorded there before it was reported: the
// first query or synchronize of any of them reports it. Of a lost device every one does. [any thread]
class Report {
 public:
  Report(dg_status_t status, std::string sentence) : status_(status), sentence_(std::move(sentence)) {}

  dg_status_t status() const { return status_; }
  bool reported() const { return reported_.load(std::memory_order_acquire); }
  // The failure, the first time; then OK.
  dg_status_t take() {
    const bool before = reported_.exchange(true, std::memory_order_acq_rel);
    return before && status_ != DG_STATUS_DEVICE_LOST ? DG_STATUS_OK : fail(status_, "%s", sentence_.c_str());
  }

 private:
  const dg_status_t status_;
  const std::string sentence_;
  std::atomic<bool> reported_{false};
};

}  // namespace sim
