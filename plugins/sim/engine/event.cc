// SPDX-License-Identifier: Apache-2.0
#include "event.h"

namespace sim {

void Recording::complete(std::shared_ptr<Report> report) {
  const std::lock_guard<std::mutex> guard(mutex_);
  time_ = std::chrono::steady_clock::now();
  report_ = std::move(report);
  done_ = true;
  changed_.notify_all();
}

bool Recording::done(Time *out_time) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (done_ && out_time) *out_time = time_;
  return done_;
}

void Recording::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

dg_status_t Recording::query() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!done_) return DG_STATUS_NOT_READY;
  return report_ ? report_->take() : DG_STATUS_OK;
}

void Event::set(std::shared_ptr<Recording> recording) {
  const std::lock_guard<std::mutex> guard(mutex_);
  recording_.swap(recording);
}

std::shared_ptr<Recording> Event::get() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return recording_;
}

dg_status_t Event::query() {
  const auto recording = get();
  return recording ? recording->query() : DG_STATUS_OK;
}

dg_status_t Event::synchronize() {
  const auto recording = get();
  if (!recording) return DG_STATUS_OK;
  recording->wait();
  return recording->query();
}

dg_status_t Event::elapsed_to(Event &end, double *out_milliseconds) {
  if (!timing_ || !end.timing_)
    return fail(DG_STATUS_INVALID_ARGUMENT, "elapsed time: both events must be created with timing = 1");
  const auto from = get(), to = end.get();
  if (!from || !to)
    return fail(DG_STATUS_INVALID_ARGUMENT, "elapsed time: the %s event was never recorded", from ? "end" : "start");
  Recording::Time began, ended;
  if (!from->done(&began) || !to->done(&ended)) return DG_STATUS_NOT_READY;
  *out_milliseconds = std::chrono::duration<double, std::milli>(ended - began).count();
  return DG_STATUS_OK;
}

}  // namespace sim
