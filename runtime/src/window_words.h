// The words of decompositions.h about windows, images and volumes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dispatch.h"

namespace dougong::ops {

// conv3d as one conv2d: the depth of the windows becomes channels, the places of the windows images.
Tensor convolved_by_depth(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                          IntList dilation, int64_t groups);
// conv_transpose2d as the gradient of conv2d for its input.
Tensor spread_images(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                     IntList output_padding, IntList dilation, int64_t groups);
// conv_transpose3d as one conv_transpose2d, whose channels are then added at their depths.
Tensor spread_volumes(const Tensor &x, const Tensor &weight, const Tensor &bias, IntList stride, IntList padding,
                      IntList output_padding, IntList dilation, int64_t groups);

// The greatest value over height and width first, then over depth. (values, indices)
Outputs max_pool_by_depth(const Tensor &x, IntList window, IntList stride, IntList padding, IntList dilation,
                          bool ceil_mode);
// The same for the mean: the divisor of a window is the product of those of its axes.
Tensor mean_by_depth(const Tensor &x, IntList window, IntList stride, IntList padding, bool ceil_mode,
                     bool count_include_pad, int64_t divisor_override);
// The sum of each window of images, with zeros for padding; and its transpose.
Tensor window_sums(const Tensor &x, IntList window, IntList stride, IntList padding, bool ceil_mode);
Tensor shared_by_windows(const Tensor &dy, const Shape &shape, IntList window, IntList stride, IntList padding,
                         bool ceil_mode);
// What the sum of each window over images of `shape` is divided by: (out height, out width), or one number. It has the
// accumulator dtype and the device of `like`.
Tensor window_areas(const Tensor &like, const Shape &shape, IntList window, IntList stride, IntList padding,
                    bool ceil_mode, bool count_include_pad, int64_t divisor_override);

// Adaptive pools over the last two axes.
Tensor mean_of_pieces(const Tensor &x, IntList sizes);
Outputs greatest_of_pieces(const Tensor &x, IntList sizes);

// One axis sampled anew. Places and weights come from exact fractions, so that no size is too large for float32.
Tensor sampled(const Tensor &x, int64_t axis, int64_t size, int32_t mode, bool align_corners, IntList step);
// The transpose of that, for an old axis of `size`.
Tensor sampled_backward(const Tensor &dy, int64_t axis, int64_t size, int32_t mode, bool align_corners, IntList step);
Tensor bordered(const Tensor &x, IntList padding, int32_t mode);
// Slices of an axis, picked by a list of indices.
Tensor picked(const Tensor &x, int64_t axis, const Tensor &index);

}  // namespace dougong::ops
