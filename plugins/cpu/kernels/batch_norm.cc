// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "channels.h"

namespace dougong::cpu {

// Means and variances of all channels; NaN over nothing.
template <class C>
static void moments(const C *x, const Images &images, double *mean, double *var) {
  channel_sums(images, mean, [=](int64_t place, int64_t) { return double(x[place]); });
  for (int64_t c = images.begin; c < images.end; ++c) mean[c] /= images.count();
  Lookup<double> centres(images, mean);
  const double *centre = centres.data();
  channel_sums(images, var, [=](int64_t place, int64_t where) {
    double distance = double(x[place]) - centre[where];
    return distance * distance;
  });
  for (int64_t c = images.begin; c < images.end; ++c) var[c] /= images.count();
}

// y = (x - mean) * scale + shift; the mean in two parts, so that a great one costs no digits.
template <class C>
static void write(const C *x, C *y, const Images &images, const double *mean, const C *scale, const C *shift) {
  Scratch<double> rest(images.channels);
  remainders<C>(images, mean, rest.data());
  Lookup<C> highs(images, mean), lows(images, rest.data()), scales(images, scale), shifts(images, shift);
  const C *high = highs.data(), *low = lows.data(), *times = scales.data(), *plus = shifts.data();
  each_element(images, [=](int64_t place, int64_t where) {
    y[place] = ((x[place] - high[where]) - low[where]) * times[where] + plus[where];
  });
}

template <class C>
static void normalise(const dg_kernel_call_t *call, double epsilon) {
  Images all(*call->inputs[0]);
  DenseInput<C> x(call->inputs[0]), weight(call->inputs[1]), bias(call->inputs[2]), running_mean(call->inputs[3]),
      running_var(call->inputs[4]);
  DenseOutput<C> y(*call->outputs[0]), means(*call->outputs[1]), vars(*call->outputs[2]);
  Scratch<double> mean(all.channels), var(all.channels);
  Scratch<C> scale(all.channels), shift(all.channels);
  if (running_mean.data())
    for (int64_t c = 0; c < all.channels; ++c) mean[c] = running_mean.data()[c], var[c] = running_var.data()[c];
  all.each_part([&](const Images &images) {
    if (!running_mean.data()) moments(x.data(), images, mean.data(), var.data());
    for (int64_t c = images.begin; c < images.end; ++c) {
      means.data()[c] = C(mean[c]), vars.data()[c] = C(var[c]);
      C rstd = C(1.0 / std::sqrt(var[c] + epsilon));
      scale[c] = weight.data() ? rstd * weight.data()[c] : rstd;
      shift[c] = bias.data() ? bias.data()[c] : C(0);
    }
    write(x.data(), y.data(), images, mean.data(), scale.data(), shift.data());
  });
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
