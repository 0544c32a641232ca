// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "channels.h"

namespace dougong::cpu {

// The sums of dy, and of dy times the distance from the mean, over a channel.
struct GradientSums {
  double plain = 0, centred = 0;
};

template <class C>
static GradientSums gradient_sums(const C *dy, const C *x, const ChannelRows &at, int64_t channel, double mean) {
  GradientSums sums, *into = &sums;
  for (int64_t row = 0; row < at.rows; ++row) {
    const C *g = dy + at.place(channel, row), *from = x + at.place(channel, row);
    vectorised([=, size = at.size] {
      into->plain += sum_row(g, size);
      into->centred += fold(
          size, 0.0, [=](int64_t i) { return double(g[i]) * (double(from[i]) - mean); },
          [](double a, double b) { return a + b; });
    });
  }
  return sums;
}

// dx = scale * (dy - shift - (x - mean) * slope) for all rows of a channel.
template <class C>
struct ChannelGradient {
  const C *dy, *x;
  C *dx;
  double mean;
  C scale, shift, slope;

  void write(const ChannelRows &at, int64_t channel) const {
    Centre<C> centre(mean);
    C by = scale, minus = shift, times = slope;
    for (int64_t row = 0; row < at.rows; ++row) {
      const C *g = dy + at.place(channel, row), *from = x + at.place(channel, row);
      C *to = dx + at.place(channel, row);
      vectorised([=, size = at.size] {
        for (int64_t i = 0; i < size; ++i) to[i] = by * ((g[i] - minus) - centre.distance(from[i]) * times);
      });
    }
  }
};

template <class C>
static void gradients(const dg_kernel_call_t *call, double epsilon, bool running) {
  ChannelRows at(*call->inputs[1]);
  ChannelView from_dy(*call->inputs[0], at.turned), from_x(*call->inputs[1], at.turned),
      to(*call->outputs[0], at.turned);
  DenseInput<C> dy(&from_dy.tensor), x(&from_x.tensor), weight(call->inputs[2]), means(call->inputs[3]),
      vars(call->inputs[4]);
  DenseOutput<C> dx(to.tensor), dweight(*call->outputs[1]), dbias(*call->outputs[2]);
  double count = double(at.count());
  for (int64_t c = 0; c < at.channels; ++c) {
    double mean = double(means.data()[c]), rstd = 1.0 / std::sqrt(double(vars.data()[c]) + epsilon);
    GradientSums sums = gradient_sums(dy.data(), x.data(), at, c, mean);
    dweight.data()[c] = C(sums.centred * rstd), dbias.data()[c] = C(sums.plain);
    double scale = weight.data() ? rstd * double(weight.data()[c]) : rstd;
    double shift = running ? 0 : sums.plain / count, slope = running ? 0 : sums.centred / count * rstd * rstd;
    ChannelGradient<C> channel{dy.data(), x.data(), dx.data(), mean, C(scale), C(shift), C(slope)};
    channel.write(at, c);
  }
  dx.finish(), dweight.finish(), dbias.finish();
}

static dg_status_t batch_norm_backward_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_batch_norm_backward_attributes_t>(call);
  return with_float(dtype_of(call->inputs[1]->dtype), [&](auto type) {
    gradients<Compute<decltype(type)>>(call, a.epsilon, a.running != 0);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_batch_norm_backward =
    kernel(DG_OP_BATCH_NORM_BACKWARD, any_layout, guarded<batch_norm_backward_launch>);

}  // namespace dougong::cpu
