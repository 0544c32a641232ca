// SPDX-License-Identifier: Apache-2.0
#include "isa.h"

#include <cstdlib>
#include <cstring>

namespace dougong::cpu {

Isa current_isa = Isa::baseline;

static Isa best_isa() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c") ||
      !__builtin_cpu_supports("bmi2"))
    return Isa::baseline;
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? Isa::avx512 : Isa::avx2;
#else
  return Isa::baseline;
#endif
}

static Isa wanted_isa() {
  const char *name = std::getenv("DOUGONG_CPU_ISA");
  if (name && std::strcmp(name, "baseline") == 0) return Isa::baseline;
  if (name && std::strcmp(name, "avx2") == 0) return Isa::avx2;
  return Isa::avx512;
}

void detect_isa() {
  Isa best = best_isa(), wanted = wanted_isa();
  current_isa = wanted < best ? wanted : best;
}

}  // namespace dougong::cpu
