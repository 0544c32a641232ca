// Work cut into parts for the threads of this process: DOUGONG_NUM_THREADS of them, see gemm.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dougong::cpu {

// Parts of fewer elements than this are done before another thread has woken.
constexpr int64_t parallel_grain = 1 << 15;

// How many parts of at least `grain` items there are for the threads, at least one.
int64_t parallel_parts(int64_t count, int64_t grain);

// part(user, i) for i from 0 to parts - 1, on this thread and others, in any order. Done when it returns. On a thread
// of the pool, and while another thread uses it, everything runs here. `part` may not throw.
void run_parallel(int64_t parts, void (*part)(void *user, int64_t i), void *user);

// f(first, end) for pieces that cover [0, count), each of at least `grain` items, which begin at multiples of `step`.
template <class F>
void parallel_for(int64_t count, int64_t grain, int64_t step, F &&f) {
  const int64_t parts = parallel_parts(count, grain);
  if (parts <= 1) return f(int64_t(0), count);
  struct Work {
    F &f;
    int64_t count, size;
  } work{f, count, ((count + parts - 1) / parts + step - 1) / step * step};
  run_parallel(
      parts,
      [](void *user, int64_t i) {
        const Work &w = *static_cast<Work *>(user);
        const int64_t first = i * w.size, end = first + w.size < w.count ? first + w.size : w.count;
        if (first < end) w.f(first, end);
      },
      &work);
}

}  // namespace dougong::cpu
