// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "error.h"

namespace sim {

namespace {

std::atomic<bool> forked{false}, exiting{false};

// Never destroyed: workers outlive static objects.
std::shared_mutex &gate() {
  static auto *const mutex = new std::shared_mutex;
  return *mutex;
}

void at_exit() {
  if (forked) return;
  exiting = true;
  gate().lock();
}

}  // namespace

dg_status_t check_process() {
  if (forked)
    return fail(DG_STATUS_INVALID_ARGUMENT,
                "this process was forked after the device was opened, and a device does not survive a fork: start "
                "workers with spawn, or open the device first in the child");
  if (exiting) return fail(DG_STATUS_ABORTED, "the process is exiting: the device does no more work");
  return DG_STATUS_OK;
}

Busy::Busy() {
  while (exiting) pause();
  lock_ = std::shared_lock<std::shared_mutex>(gate());
}

void watch_process() {
  static const bool watched = [] {
    gate();
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    return std::atexit(at_exit) == 0;
  }();
  static_cast<void>(watched);
}

}  // namespace sim
