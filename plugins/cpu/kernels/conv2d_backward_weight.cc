// SPDX-License-Identifier: Apache-2.0
#include "conv.h"

namespace dougong::cpu {

template <class C>
struct WeightGradient {
  ConvShape s;
  ConvTensor<C> dy, x, dweight;
  C *columns;

  WeightGradient(const dg_kernel_call_t *call, Arena &arena)
      : s(attributes<dg_conv2d_backward_weight_attributes_t>(call), call->inputs[1]->shape, call->outputs[0]->shape,
          call->inputs[0]->shape),
        dy(*call->inputs[0], arena),
        x(*call->inputs[1], arena),
        dweight(*call->outputs[0], arena),
        columns(s.pointwise() ? nullptr : arena.take<C>(s.patch() * s.places())) {}

  void operator()() const {
    const C *gradients = dy.read(), *images = x.read();
    for (int64_t i = 0; i < s.out_channels * s.patch(); ++i) dweight.data[i] = C(0);
    for (int64_t i = 0; i < s.batch * s.groups; ++i) {
      const C *image = images + i * s.group_channels() * s.image();
      if (columns) im2col(s, image, columns);
      Matrix<const C> patches{columns ? columns : image, s.places(), 1};
      gemm(s.group_outputs(), s.patch(), s.places(),
           Matrix<const C>{gradients + i * s.group_outputs() * s.places(), s.places(), 1}, patches.transposed(),
           Matrix<C>{dweight.data + i % s.groups * s.group_outputs() * s.patch(), s.patch(), 1}, true);
    }
    dweight.write();
  }
};

extern const dg_kernel_t dg_kernel_conv2d_backward_weight =
    kernel(DG_OP_CONV2D_BACKWARD_WEIGHT, any_layout, conv_launch<WeightGradient>, nullptr, conv_plan<WeightGradient>);

}  // namespace dougong::cpu
