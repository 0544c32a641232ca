// SPDX-License-Identifier: Apache-2.0
#include "conv.h"

namespace dougong::cpu {

template <class C>
struct InputGradient {
  ConvShape s;
  ConvTensor<C> dy, weight, dx;
  C *columns;

  InputGradient(const dg_kernel_call_t *call, Arena &arena)
      : s(attributes<dg_conv2d_backward_input_attributes_t>(call), call->outputs[0]->shape, call->inputs[1]->shape,
          call->inputs[0]->shape),
        dy(*call->inputs[0], arena),
        weight(*call->inputs[1], arena),
        dx(*call->outputs[0], arena),
        columns(s.pointwise() ? nullptr : arena.take<C>(s.patch() * s.places())) {}

  void operator()() const {
    const C *gradients = dy.read(), *weights = weight.read();
    for (int64_t i = 0; i < s.batch * s.groups; ++i) {
      C *image = dx.data + i * s.group_channels() * s.image();
      Matrix<const C> kernels{weights + i % s.groups * s.group_outputs() * s.patch(), s.patch(), 1};
      gemm(s.patch(), s.places(), s.group_outputs(), kernels.transposed(),
           Matrix<const C>{gradients + i * s.group_outputs() * s.places(), s.places(), 1},
           Matrix<C>{columns ? columns : image, s.places(), 1}, false);
      if (!columns) continue;
      for (int64_t j = 0; j < s.group_channels() * s.image(); ++j) image[j] = C(0);
      col2im<C>(s, columns, image);
    }
    dx.write();
  }
};

extern const dg_kernel_t dg_kernel_conv2d_backward_input =
    kernel(DG_OP_CONV2D_BACKWARD_INPUT, any_layout, conv_launch<InputGradient>, nullptr, conv_plan<InputGradient>);

}  // namespace dougong::cpu
