// The words of shape_rules.h about sliding windows over the last axes of a tensor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"

namespace dougong::ops {

// How many places a window has on an axis. Rounded up (`ceil_mode`), a last window may reach beyond the padding, but
// begins before it.
int64_t pool_count(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);
// Strides and dilations positive, padding not negative, and room for at least one window; with ceil_mode the one may
// reach beyond the padding.
bool windows_fit(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation,
                 bool ceil_mode = false);
// Each window holds an element that is no padding.
bool windows_meet(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode);
Shape pooled(const Shape &shape, IntList window, IntList stride, IntList padding, IntList dilation, bool ceil_mode);
Shape convolved(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList dilation);

// The transpose of convolution: its attributes, and whether anything is left of its result.
bool spreads(IntList stride, IntList padding, IntList output_padding, IntList dilation);
Shape spread(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList output_padding,
             IntList dilation, int64_t groups);
bool not_small(const Shape &x, const Shape &weight, IntList stride, IntList padding, IntList output_padding,
               IntList dilation, int64_t groups);

// The last axes cut into so many pieces.
bool pieces_fit(const Shape &shape, IntList sizes);
Shape resized(const Shape &shape, IntList sizes);
Shape with_size(const Shape &shape, int64_t axis, int64_t size);
bool border_fits(const Shape &shape, IntList padding, bool reflect, bool circular);

}  // namespace dougong::ops
