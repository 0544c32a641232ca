// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <csignal>

#include "process.h"

namespace sim {

void Shared::lose(const std::string &reason) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!lost_) lost_ = std::make_shared<Report>(DG_STATUS_DEVICE_LOST, reason);
  is_lost_.store(true, std::memory_order_release);
}

std::shared_ptr<Report> Shared::lost() {
  if (!is_lost_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard<std::mutex> guard(mutex_);
  return lost_;
}

Queue::Queue(std::shared_ptr<Shared> shared, const Delays &delays)
    : shared_(std::move(shared)), delays_(delays), random_(delays.seed) {}

Queue::~Queue() { join(); }

Queue::Position Queue::push(Task task) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!worker_.joinable()) worker_ = std::thread([this] { work_off(); });
  tasks_.push_back(std::move(task));
  queued_changed_.notify_one();
  return ++queued_;
}

Queue::Position Queue::submit(Work work) { return push({true, std::move(work)}); }

void Queue::add_callback(Callback callback) {
  push({false, [this, callback = std::move(callback)] {
          const auto failure = pending_failure();
          callback(failure ? failure->status() : dg_status_t(DG_STATUS_OK));
          return dg_status_t(DG_STATUS_OK);
        }});
}

std::shared_ptr<Recording> Queue::record() {
  auto recording = std::make_shared<Recording>();
  push({false, [this, recording] {
          recording->complete(pending_failure());
          return dg_status_t(DG_STATUS_OK);
        }});
  return recording;
}

void Queue::wait_for(std::shared_ptr<Recording> recording) {
  if (!recording) return;
  push({false, [recording = std::move(recording)] {
          recording->wait();
          return dg_status_t(DG_STATUS_OK);
        }});
}

void Queue::work_off() {
  sigset_t all;  // signals are the host's
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    queued_changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      execute(task);
    }
    lock.lock();
    ++done_;
    done_changed_.notify_all();
  }
}

void Queue::execute(const Task &task) {
  delay();
  if (!task.touches_memory) {
    task.run();
    return;
  }
  if (shared_->lost()) return;
  std::unique_lock<std::mutex> unit(shared_->unit_, std::defer_lock);
  if (shared_->one_at_a_time_) unit.lock();
  const Busy busy;
  const dg_status_t status = task.run();
  if (status != DG_STATUS_OK) note_failure(status);
}

void Queue::delay() {
  if (delays_.one_in == 0 || random_() % delays_.one_in != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % (uint64_t(delays_.most) + 1)));
}

// The first failure since the last report stays.
void Queue::note_failure(dg_status_t status) {
  if (status == DG_STATUS_DEVICE_LOST) return shared_->lose(last_error());
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!failure_ || failure_->reported()) failure_ = std::make_shared<Report>(status, last_error());
}

std::shared_ptr<Report> Queue::pending_failure() {
  if (auto lost = shared_->lost()) return lost;
  const std::lock_guard<std::mutex> guard(mutex_);
  return failure_ && !failure_->reported() ? failure_ : nullptr;
}

std::shared_ptr<Report> Queue::take_failure() {
  const std::lock_guard<std::mutex> guard(mutex_);
  auto failure = std::move(failure_);
  failure_ = nullptr;
  return failure && !failure->reported() ? failure : nullptr;
}

dg_status_t Queue::outcome() {
  const auto failure = pending_failure();
  return failure ? failure->take() : DG_STATUS_OK;
}

dg_status_t Queue::query() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (done_ < queued_) return DG_STATUS_NOT_READY;
  }
  return outcome();
}

dg_status_t Queue::synchronize() {
  Position position;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    position = queued_;
  }
  return wait_until(position);
}

dg_status_t Queue::wait_until(Position position) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_changed_.wait(lock, [&] { return done_ >= position; });
  }
  return outcome();
}

void Queue::close() {
  const std::lock_guard<std::mutex> guard(mutex_);
  closed_ = true;
  queued_changed_.notify_one();
}

void Queue::join() {
  close();
  if (worker_.joinable()) worker_.join();
}

bool Queue::finished() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return closed_ && done_ == queued_;
}

}  // namespace sim
