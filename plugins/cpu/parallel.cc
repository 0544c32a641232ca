// SPDX-License-Identifier: Apache-2.0
#include "parallel.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "gemm.h"

namespace dougong::cpu {

namespace {

thread_local bool inside = false;  // this thread works on a part

// Threads that sleep until there is work: none of them spins beside the threads of other libraries. Of one process: a
// child that was forked has no threads, and makes a pool of its own. Never destroyed: they sleep when the process ends.
class Pool {
 public:
  explicit Pool(int threads) : process_(getpid()) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    for (int i = 1; i < threads; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, run, this) != 0) break;  // fewer are slower, not wrong
      pthread_detach(thread);
      ++workers_;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  bool of_this_process() const { return process_ == getpid(); }

  // False if another thread has the pool.
  bool run_all(int64_t parts, void (*part)(void *, int64_t), void *user) {
    std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
    if (!owner.owns_lock() || workers_ == 0) return false;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      part_ = part, user_ = user, parts_ = parts;
      next_.store(0, std::memory_order_relaxed);
      ++round_;
    }
    wake_.notify_all();
    take_parts(parts, part, user);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    parts_ = 0;  // who wakes late finds nothing to do
    return true;
  }

 private:
  static void *run(void *pool) {
    inside = true;
    static_cast<Pool *>(pool)->work();
    return nullptr;
  }

  void work() {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (parts_ == 0) continue;
      ++busy_;
      const int64_t parts = parts_;
      const auto part = part_;
      void *user = user_;
      lock.unlock();
      take_parts(parts, part, user);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void take_parts(int64_t parts, void (*part)(void *, int64_t), void *user) {
    for (int64_t i = next_.fetch_add(1, std::memory_order_relaxed); i < parts;
         i = next_.fetch_add(1, std::memory_order_relaxed))
      part(user, i);
  }

  const pid_t process_;
  int workers_ = 0;
  std::mutex owner_, mutex_;
  std::condition_variable wake_, done_;
  uint64_t round_ = 0;
  int busy_ = 0;
  void (*part_)(void *, int64_t) = nullptr;
  void *user_ = nullptr;
  int64_t parts_ = 0;
  std::atomic<int64_t> next_{0};
};

Pool &pool() {
  static std::atomic<Pool *> current{nullptr};
  Pool *found = current.load(std::memory_order_acquire);
  if (found && found->of_this_process()) return *found;
  auto *fresh = new Pool(thread_count());
  // A second thread that came here at once keeps its own threads asleep: that is once a process, and harmless.
  return current.compare_exchange_strong(found, fresh) ? *fresh : *current.load();
}

}  // namespace

int64_t parallel_parts(int64_t count, int64_t grain) {
  if (inside || count < 2 * grain) return 1;
  const int64_t most = count / grain, threads = thread_count();
  return most < threads ? most : threads;
}

void run_parallel(int64_t parts, void (*part)(void *user, int64_t i), void *user) {
  if (parts > 1 && !inside) {
    inside = true;
    const bool done = pool().run_all(parts, part, user);
    inside = false;
    if (done) return;
  }
  for (int64_t i = 0; i < parts; ++i) part(user, i);
}

}  // namespace dougong::cpu
