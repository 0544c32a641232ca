// SPDX-License-Identifier: Apache-2.0
#include "conv.h"

namespace dougong::cpu {

template <class C>
struct Convolution {
  ConvShape s;
  ConvTensor<C> x, weight, y;
  C *columns;
  const dg_tensor_t *bias;

  Convolution(const dg_kernel_call_t *call, Arena &arena)
      : s(attributes<dg_conv2d_attributes_t>(call), call->inputs[0]->shape, call->inputs[1]->shape,
          call->outputs[0]->shape),
        x(*call->inputs[0], arena),
        weight(*call->inputs[1], arena),
        y(*call->outputs[0], arena),
        columns(s.pointwise() ? nullptr : arena.take<C>(s.patch() * s.places())),
        bias(call->inputs[2]) {}

  void operator()() const {
    const C *images = x.read(), *weights = weight.read();
    for (int64_t i = 0; i < s.batch * s.groups; ++i) {
      const C *image = images + i * s.group_channels() * s.image();
      if (columns) im2col(s, image, columns);
      gemm(s.group_outputs(), s.places(), s.patch(),
           Matrix<const C>{weights + i % s.groups * s.group_outputs() * s.patch(), s.patch(), 1},
           Matrix<const C>{columns ? columns : image, s.places(), 1},
           Matrix<C>{y.data + i * s.group_outputs() * s.places(), s.places(), 1}, false);
    }
    if (bias) add_bias();
    y.write();
  }

  void add_bias() const {
    for (int64_t i = 0; i < s.batch * s.out_channels; ++i) {
      int64_t channel = i % s.out_channels, stride = s.out_channels > 1 ? bias->strides[0] * item_size(*bias) : 0;
      C value, *plane = y.data + i * s.places(), *into = &value;
      load(into, address(*bias) + channel * stride, item_size(*bias), 1, dtype_of(bias->dtype), true);
      vectorised([=] {
        for (int64_t place = 0; place < s.places(); ++place) plane[place] += *into;
      });
    }
  }
};

extern const dg_kernel_t dg_kernel_conv2d =
    kernel(DG_OP_CONV2D, any_layout, conv_launch<Convolution>, nullptr, conv_plan<Convolution>);

}  // namespace dougong::cpu
