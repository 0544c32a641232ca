// What cross_entropy and its gradient share: the classes, checked, and the factors of the loss
//   loss(i) = -(1 - s) w(t) log p(t) - s / classes * sum over c of w(c) log p(c),  s the label smoothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dense.h"
#include "indices.h"
#include "softmax.h"

namespace dougong::cpu {

template <class C>
struct Classes {
  int64_t batch, classes;
  Indices target;
  DenseInput<C> weight;
  double smoothing, weight_sum;

  Classes(const dg_tensor_t &x, const dg_tensor_t &target, const dg_tensor_t *weight, double smoothing)
      : batch(x.shape[0]), classes(x.shape[1]), target(target), weight(weight), smoothing(smoothing), weight_sum(0) {
    for (int64_t c = 0; c < classes; ++c) weight_sum += weight_of(c);
  }

  double weight_of(int64_t c) const { return weight.data() ? double(weight.data()[c]) : 1.0; }
  bool ignored(int64_t i) const { return target.data[i] < 0; }

  // Ignored rows become -1; OUT_OF_RANGE if another one names no class.
  dg_status_t check(int64_t ignore_index, const char *op) {
    for (int64_t i = 0; i < batch; ++i) {
      int64_t t = target.owned[i];
      bool ignore = t == ignore_index;
      if (!ignore && (t < 0 || t >= classes))
        return fail(DG_STATUS_OUT_OF_RANGE,
                    "%s: target %lld at position %lld is none of %lld classes and not ignore_index (%lld); nothing "
                    "was written",
                    op, static_cast<long long>(t), static_cast<long long>(i), static_cast<long long>(classes),
                    static_cast<long long>(ignore_index));
      target.owned[i] = ignore ? -1 : t;
    }
    return DG_STATUS_OK;
  }

  // The divisor of the mean.
  double total_weight() const {
    double total = 0;
    for (int64_t i = 0; i < batch; ++i) total += ignored(i) ? 0.0 : weight_of(target.data[i]);
    return total;
  }
};

}  // namespace dougong::cpu
