// Uniform random numbers: uniform and dropout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "philox.h"

namespace dougong::cpu {

// As many random bits as the dtype has digits, so that no value rounds up to 1.
struct Uniform {
  template <class T>
  static void draw(const uint32_t *words, int64_t blocks, Compute<T> *out) {
    if constexpr (std::is_same_v<T, double>) {
      for (int64_t i = 0; i < 2 * blocks; ++i) out[i] = double(random_53(words[2 * i], words[2 * i + 1])) * 0x1p-53;
    } else {
      constexpr int digits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, Half> ? 11 : 8;
      constexpr float unit = 1.0f / float(1 << digits);
      vectorised([=] {
        for (int64_t i = 0; i < 4 * blocks; ++i) out[i] = float(words[i] >> (32 - digits)) * unit;
      });
    }
  }
};

}  // namespace dougong::cpu
