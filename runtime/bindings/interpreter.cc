// SPDX-License-Identifier: Apache-2.0
#include "interpreter.h"

#include <Python.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../src/dispatch.h"

namespace dougong {

namespace {

std::atomic<bool> closed{false};
std::atomic<std::thread::id> closer{};
std::atomic<int> coming_back{0};  // threads that wait for the lock

void *release() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

// A thread announces itself before it looks, and the closer looks after it has closed: one of them sees the other.
void acquire(void *state) {
  ++coming_back;
  if (closed && closer.load() != std::this_thread::get_id()) {
    --coming_back;
    for (;;) pause();
  }
  PyEval_RestoreThread(static_cast<PyThreadState *>(state));
  --coming_back;
}

}  // namespace

void install_interpreter_lock() { interpreter_lock = {release, acquire}; }

void close_interpreter_lock() {
  closer = std::this_thread::get_id();
  closed = true;
  while (coming_back > 0) sched_yield();
}

}  // namespace dougong
