// What interpolate takes from an axis: for each place of the new one up to four elements of the old, with weights.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dense.h"

namespace dougong::cpu {

// Rows of `inner` elements along the axis: (outer, old or count, inner).
struct SampledAxis {
  int64_t outer = 1, inner = 1, old, count;

  SampledAxis(const dg_tensor_t &tensor, int64_t axis, int64_t old, int64_t count) : old(old), count(count) {
    for (int64_t i = 0; i < axis; ++i) outer *= tensor.shape[i];
    for (int64_t i = axis + 1; i < tensor.ndim; ++i) inner *= tensor.shape[i];
  }
};

template <class C>
class Taps {
 public:
  static constexpr int most = 4;
  int count;  // of each place

  // Places are exact fractions: numerator / denominator. Throws bad_alloc.
  template <class Attributes>
  Taps(const Attributes &a, int64_t old, int64_t places)
      : count(a.mode == DG_INTERPOLATE_MODE_CUBIC    ? 4
              : a.mode == DG_INTERPOLATE_MODE_LINEAR ? 2
                                                     : 1) {
    index_.allocate(places * count), weight_.allocate(places * count);
    const int64_t p = a.step[0] ? a.step[0] : old, q = a.step[0] ? a.step[1] : places;
    for (int64_t o = 0; o < places; ++o) {
      if (a.mode == DG_INTERPOLATE_MODE_NEAREST)
        put(o, old, o * p, q);
      else if (a.mode == DG_INTERPOLATE_MODE_NEAREST_EXACT)
        put(o, old, (2 * o + 1) * p, 2 * q);
      else if (a.align_corners)
        put(o, old, o * (old - 1), places > 1 ? places - 1 : 1);
      else
        put(o, old, (2 * o + 1) * p - q, 2 * q);
    }
  }
  const int64_t *index(int64_t place) const { return index_.data() + place * count; }
  const C *weight(int64_t place) const { return weight_.data() + place * count; }

 private:
  void put(int64_t place, int64_t old, int64_t numerator, int64_t denominator) {
    if (count == 2 && numerator < 0) numerator = 0;
    int64_t at = numerator / denominator - (numerator < 0 && numerator % denominator != 0);
    double t = double(numerator - at * denominator) / double(denominator);
    double weights[most] = {1};
    if (count == 2) weights[0] = 1 - t, weights[1] = t;
    if (count == 4) weights[0] = far(t), weights[1] = near(t), weights[2] = near(1 - t), weights[3] = far(1 - t);
    for (int k = 0; k < count; ++k) {
      int64_t from = at + k - (count == 4);
      index_.data()[place * count + k] = from < 0 ? 0 : from >= old ? old - 1 : from;
      weight_.data()[place * count + k] = C(weights[k]);
    }
  }
  // The cubic kernel of slope -0.75, at distance t and at 1 + t.
  static double near(double t) { return (1 - t) * (1 + t - 1.25 * t * t); }
  static double far(double t) { return -0.75 * t * (1 - t) * (1 - t); }

  Scratch<int64_t> index_;
  Scratch<C> weight_;
};

}  // namespace dougong::cpu
