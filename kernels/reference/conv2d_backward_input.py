"""The gradient of conv2d for its input."""

import numpy as np

from ._windows import by_group


def conv2d_backward_input(dy, weight, *, shape, stride, padding, dilation, groups):
    """Each dy goes to all places of the window that it came from."""
    n, channels, height, width = shape
    dx = np.zeros((n, groups, channels // groups, height + 2 * padding[0], width + 2 * padding[1]), dy.dtype)
    out_h, out_w = dy.shape[2:]
    dy = by_group(dy, groups)
    kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            top, left = i * dilation[0], j * dilation[1]
            rows = slice(top, top + stride[0] * (out_h - 1) + 1, stride[0])
            columns = slice(left, left + stride[1] * (out_w - 1) + 1, stride[1])
            dx[:, :, :, rows, columns] += np.einsum("ngohw,goc->ngchw", dy, kernels[:, :, :, i, j])
    dx = dx.reshape(n, channels, *dx.shape[3:])
    return dx[:, :, padding[0] : padding[0] + height, padding[1] : padding[1] + width]


def magnitude(dy, weight, *, groups, **attributes):
    terms = weight.shape[0] // groups * weight.shape[2] * weight.shape[3]
    return conv2d_backward_input(np.abs(dy), np.abs(weight), groups=groups, **attributes), terms
