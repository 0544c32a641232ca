// One source for every instruction set: a loop is compiled for each level and the best one is taken at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dougong::cpu {

enum class Isa : int32_t { baseline, avx2, avx512 };

// What this machine has; DOUGONG_CPU_ISA=baseline|avx2|avx512 lowers it. Set once, by initialize.
extern Isa current_isa;
void detect_isa();

#if defined(__x86_64__) && defined(__GNUC__)
template <class Body>
[[gnu::flatten, gnu::target("avx2,fma,f16c,bmi2")]] void run_avx2(const Body &body) {
  body();
}

template <class Body>
[[gnu::flatten, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2,prefer-vector-width=512")]] void
run_avx512(const Body &body) {
  body();
}
#endif

// Runs body(), with all that it calls inlined and compiled for the machine. The result does not depend on the length
// of the loops in it: each level uses one formula for whole vectors and for the rest.
template <class Body>
inline void vectorised(const Body &body) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (current_isa == Isa::avx512) return run_avx512(body);
  if (current_isa == Isa::avx2) return run_avx2(body);
#endif
  body();
}

}  // namespace dougong::cpu
