// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "channels.h"

namespace dougong::cpu {

struct Moments {
  double mean, var;
};

template <class C>
static Moments moments(const C *x, const ChannelRows &at, int64_t channel) {
  double count = double(at.count());
  if (count == 0) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  double sum = 0, squares = 0, *total = &sum, *spread = &squares;
  for (int64_t row = 0; row < at.rows; ++row) {
    const C *from = x + at.place(channel, row);
    vectorised([=, size = at.size] { *total += sum_row(from, size); });
  }
  double mean = sum / count;
  for (int64_t row = 0; row < at.rows; ++row) {
    const C *from = x + at.place(channel, row);
    vectorised([=, size = at.size] {
      *spread += sum_row(from, size, [mean](double item) { return (item - mean) * (item - mean); });
    });
  }
  return {mean, squares / count};
}

// y = (x - mean) * scale + shift for all rows of a channel.
template <class C>
static void write_channel(const C *x, C *y, const ChannelRows &at, int64_t channel, double mean, C scale, C shift) {
  Centre<C> centre(mean);
  for (int64_t row = 0; row < at.rows; ++row) {
    const C *from = x + at.place(channel, row);
    C *to = y + at.place(channel, row);
    vectorised([=, size = at.size] {
      for (int64_t i = 0; i < size; ++i) to[i] = centre.distance(from[i]) * scale + shift;
    });
  }
}

template <class C>
static void normalise(const dg_kernel_call_t *call, double epsilon) {
  ChannelRows at(*call->inputs[0]);
  ChannelView from(*call->inputs[0], at.turned), to(*call->outputs[0], at.turned);
  DenseInput<C> x(&from.tensor), weight(call->inputs[1]), bias(call->inputs[2]), running_mean(call->inputs[3]),
      running_var(call->inputs[4]);
  DenseOutput<C> y(to.tensor), means(*call->outputs[1]), vars(*call->outputs[2]);
  bool given = running_mean.data() != nullptr;
  for (int64_t c = 0; c < at.channels; ++c) {
    Moments found =
        given ? Moments{double(running_mean.data()[c]), double(running_var.data()[c])} : moments(x.data(), at, c);
    means.data()[c] = C(found.mean), vars.data()[c] = C(found.var);
    C rstd = C(1.0 / std::sqrt(found.var + epsilon));
    C scale = weight.data() ? rstd * weight.data()[c] : rstd, shift = bias.data() ? bias.data()[c] : C(0);
    write_channel(x.data(), y.data(), at, c, found.mean, scale, shift);
  }
  y.finish(), means.finish(), vars.finish();
}

static dg_status_t batch_norm_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    normalise<Compute<decltype(type)>>(call, attributes<dg_batch_norm_attributes_t>(call).epsilon);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_batch_norm = kernel(DG_OP_BATCH_NORM, any_layout, guarded<batch_norm_launch>);

}  // namespace dougong::cpu
