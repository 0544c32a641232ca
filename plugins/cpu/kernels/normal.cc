// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "philox.h"

namespace dougong::cpu {

// The Box-Muller transform of u1 in (0, 1] and u2 in [0, 1), in float64.
static void box_muller(double u1, double u2, double *out) {
  double radius = std::sqrt(-2.0 * std::log(u1));
  // The quarter turns are taken off exactly, so that the angle keeps all its digits near the zeros of cos and sin.
  double quarters = std::nearbyint(4.0 * u2), angle = (4.0 * u2 - quarters) * 1.57079632679489661923;
  double c = std::cos(angle), s = std::sin(angle);
  switch (int(quarters) & 3) {
    case 0:
      out[0] = c, out[1] = s;
      break;
    case 1:
      out[0] = -s, out[1] = c;
      break;
    case 2:
      out[0] = -c, out[1] = -s;
      break;
    default:
      out[0] = s, out[1] = -c;
      break;
  }
  out[0] *= radius, out[1] *= radius;
}

struct Normal {
  template <class T>
  static void draw(const uint32_t *words, int64_t blocks, Compute<T> *out) {
    if constexpr (std::is_same_v<T, double>) {
      for (int64_t i = 0; i < blocks; ++i, words += 4, out += 2)
        box_muller(double(random_53(words[0], words[1]) + 1) * 0x1p-53, double(random_53(words[2], words[3])) * 0x1p-53,
                   out);
    } else {
      for (int64_t i = 0; i < 2 * blocks; ++i, words += 2, out += 2) {
        double pair[2];
        box_muller(double((words[0] >> 8) + 1) * 0x1p-24, double(words[1] >> 8) * 0x1p-24, pair);
        for (int j = 0; j < 2; ++j) out[j] = sizeof(T) == 2 ? round_to_odd(pair[j]) : float(pair[j]);
      }
    }
  }
};

extern const dg_kernel_t dg_kernel_normal =
    kernel(DG_OP_NORMAL, any_layout, random_launch<Normal, dg_normal_attributes_t>);

}  // namespace dougong::cpu
