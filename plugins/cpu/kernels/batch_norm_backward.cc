// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "channels.h"

namespace dougong::cpu {

// With sums over a channel: dbias = sum of dy, dweight = sum of dy (x - mean) rstd, and
// dx = scale * (dy - dbias / count - (x - mean) * slope), slope = dweight * rstd / count.
template <class C>
static void write(const C *dy, const C *x, C *dx, const Images &images, const C *mean, const C *scale,
                  const double *shift, const double *slope) {
  Lookup<C> means(images, mean), scales(images, scale), shifts(images, shift), slopes(images, slope);
  const C *centre = means.data(), *times = scales.data(), *minus = shifts.data(), *by = slopes.data();
  each_element(images, [=](int64_t place, int64_t where) {
    dx[place] = times[where] * ((dy[place] - minus[where]) - (x[place] - centre[where]) * by[where]);
  });
}

template <class C>
static void sums(const C *dy, const C *x, const C *mean, const Images &images, double *plain, double *centred) {
  Lookup<double> centres(images, mean);
  const double *centre = centres.data();
  channel_sums(images, plain, [=](int64_t place, int64_t) { return double(dy[place]); });
  channel_sums(images, centred,
               [=](int64_t place, int64_t where) { return double(dy[place]) * (double(x[place]) - centre[where]); });
}

template <class C>
static void gradients(const dg_kernel_call_t *call, double epsilon, bool running) {
  Images all(*call->inputs[1]);
  DenseInput<C> dy(call->inputs[0]), x(call->inputs[1]), weight(call->inputs[2]), means(call->inputs[3]),
      vars(call->inputs[4]);
  DenseOutput<C> dx(*call->outputs[0]), dweight(*call->outputs[1]), dbias(*call->outputs[2]);
  Scratch<double> plain(all.channels), centred(all.channels);
  Scratch<C> scale(all.channels);
  all.each_part([&](const Images &images) {
    sums(dy.data(), x.data(), means.data(), images, plain.data(), centred.data());
    for (int64_t c = images.begin; c < images.end; ++c) {
      double rstd = 1.0 / std::sqrt(double(vars.data()[c]) + epsilon);
      dweight.data()[c] = C(centred[c] * rstd), dbias.data()[c] = C(plain[c]);
      scale[c] = C(weight.data() ? rstd * double(weight.data()[c]) : rstd);
      plain[c] = running ? 0 : plain[c] / images.count();
      centred[c] = running ? 0 : centred[c] / images.count() * rstd * rstd;
    }
    write(dy.data(), x.data(), dx.data(), images, means.data(), scale.data(), plain.data(), centred.data());
  });
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
