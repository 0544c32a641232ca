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
  static void draw(const PhiloxBlock &block, Compute<T> *out) {
    const uint32_t *r = block.word;
    if constexpr (std::is_same_v<T, double>) {
      box_muller(double(random_53(r[0], r[1]) + 1) * 0x1p-53, double(random_53(r[2], r[3])) * 0x1p-53, out);
    } else {
      for (int p = 0; p < 2; ++p) {
        double pair[2];
        box_muller(double((r[2 * p] >> 8) + 1) * 0x1p-24, double(r[2 * p + 1] >> 8) * 0x1p-24, pair);
        for (int i = 0; i < 2; ++i) out[2 * p + i] = sizeof(T) == 2 ? round_to_odd(pair[i]) : float(pair[i]);
      }
    }
  }
};

extern const dg_kernel_t dg_kernel_normal =
    kernel(DG_OP_NORMAL, any_layout, random_launch<Normal, dg_normal_attributes_t>);

}  // namespace dougong::cpu
