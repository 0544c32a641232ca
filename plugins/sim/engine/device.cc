// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstring>

#include "process.h"

namespace sim {

Queue::Work with_fault(Queue::Work work, Fault fault) {
  if (fault.kind != Fault::later) return work;
  return [status = fault.status] { return fail(status, "a planned fault: the work failed when the queue came there"); };
}

dg_status_t Device::create(const DeviceOptions &options, std::unique_ptr<Device> *out_device) {
  watch_process();
  std::unique_ptr<Device> device(new Device(options));
  const dg_status_t status = Arena::create(options.memory, &device->memory_);
  if (status == DG_STATUS_OK) *out_device = std::move(device);
  return status;
}

Device::Device(const DeviceOptions &options)
    : options_(options), shared_(std::make_shared<Shared>(options.one_at_a_time)) {}

// Workers end before the memory does, also those of queues that somebody still holds.
Device::~Device() {
  for (const auto &queue : queues_) queue->join();
}

std::shared_ptr<Queue> Device::make_queue() {
  reap();
  const std::lock_guard<std::mutex> guard(mutex_);
  Delays delays = options_.delays;
  delays.seed += ++queues_made_ * 0x9e3779b97f4a7c15u;  // each queue has its own
  queues_.push_back(std::make_shared<Queue>(shared_, delays));
  return queues_.back();
}

void Device::close_queue(std::shared_ptr<Queue> queue) {
  queue->close();
  queue = nullptr;
  reap();
}

// Lets go of queues that are closed and done, and keeps what nobody asked them for.
void Device::reap() {
  std::vector<std::shared_ptr<Queue>> done;  // joined without the lock
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto first =
      std::stable_partition(queues_.begin(), queues_.end(), [](const auto &queue) { return !queue->finished(); });
  std::move(first, queues_.end(), std::back_inserter(done));
  queues_.erase(first, queues_.end());
  for (const auto &queue : done)
    if (auto failure = queue->take_failure(); failure && !failure_) failure_ = failure;
}

dg_status_t Device::synchronize() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    queues = queues_;
  }
  dg_status_t first = DG_STATUS_OK;
  std::string sentence;
  const auto keep = [&](dg_status_t status) {
    if (status == DG_STATUS_OK || first != DG_STATUS_OK) return;
    first = status;
    sentence = last_error();
  };
  for (const auto &queue : queues) keep(queue->synchronize());
  queues.clear();
  reap();
  const std::lock_guard<std::mutex> guard(mutex_);
  if (failure_) keep(failure_->take());
  failure_ = nullptr;
  return first == DG_STATUS_OK ? first : fail(first, "%s", sentence.c_str());
}

dg_status_t Device::check() {
  const auto lost = shared_->lost();
  return lost ? lost->take() : DG_STATUS_OK;
}

Queue::Work Device::moving(char *to, const char *from, size_t size, Fault fault) const {
  const bool slow = options_.slow_copies, corrupt = fault.kind == Fault::corrupt;
  return with_fault(
      [=] {
        if (slow) std::this_thread::sleep_for(std::chrono::microseconds(100) + std::chrono::nanoseconds(size));
        std::memcpy(to, from, size);
        if (corrupt) *to = char(~*to);
        return dg_status_t(DG_STATUS_OK);
      },
      fault);
}

dg_status_t Device::copy_from_host(Queue &queue, const Place &to, const void *from, size_t size,
                                   const PinnedMemory &pinned, Fault fault) {
  char *address;
  const dg_status_t status = memory_->resolve(to.handle, to.offset, size, &address);
  if (status != DG_STATUS_OK) return status;
  const char *source = static_cast<const char *>(from);
  if (pinned.contains(from, size)) {
    queue.submit(moving(address, source, size, fault));
    return DG_STATUS_OK;
  }
  const std::shared_ptr<char[]> snapshot(new char[size]);
  std::memcpy(snapshot.get(), source, size);
  queue.submit([snapshot, move = moving(address, snapshot.get(), size, fault)] { return move(); });
  return DG_STATUS_OK;
}

dg_status_t Device::copy_to_host(Queue &queue, void *to, const Place &from, size_t size, const PinnedMemory &pinned,
                                 Fault fault) {
  char *address;
  const dg_status_t status = memory_->resolve(from.handle, from.offset, size, &address);
  if (status != DG_STATUS_OK) return status;
  const Queue::Position position = queue.submit(moving(static_cast<char *>(to), address, size, fault));
  return pinned.contains(to, size) ? dg_status_t(DG_STATUS_OK) : queue.wait_until(position);
}

dg_status_t Device::copy(Queue &queue, const Place &to, const Place &from, size_t size, Fault fault) {
  char *target, *source;
  dg_status_t status = to.device.memory_->resolve(to.handle, to.offset, size, &target);
  if (status == DG_STATUS_OK) status = from.device.memory_->resolve(from.handle, from.offset, size, &source);
  if (status != DG_STATUS_OK) return status;
  queue.submit(moving(target, source, size, fault));
  return DG_STATUS_OK;
}

dg_status_t Device::fill(Queue &queue, const Place &to, const void *pattern, size_t pattern_size, size_t count,
                         Fault fault) {
  if (pattern_size == 0 || pattern_size > 16 || (pattern_size & (pattern_size - 1)))
    return fail(DG_STATUS_INVALID_ARGUMENT, "a pattern has 1, 2, 4, 8 or 16 bytes; found %zu", pattern_size);
  if (count > SIZE_MAX / pattern_size)
    return fail(DG_STATUS_INVALID_ARGUMENT, "%zu patterns of %zu bytes are more than any memory holds", count,
                pattern_size);
  char *address;
  const dg_status_t status = memory_->resolve(to.handle, to.offset, pattern_size * count, &address);
  if (status != DG_STATUS_OK) return status;
  const std::string bytes(static_cast<const char *>(pattern), pattern_size);
  queue.submit(with_fault(
      [=] {
        for (size_t i = 0; i < count; ++i) std::memcpy(address + i * bytes.size(), bytes.data(), bytes.size());
        return dg_status_t(DG_STATUS_OK);
      },
      fault));
  return DG_STATUS_OK;
}

}  // namespace sim
