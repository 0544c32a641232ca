"""The gradient of conv2d for its weight."""

import numpy as np

from ._windows import by_group, windows


def conv2d_backward_weight(dy, x, *, shape, stride, padding, dilation, groups):
    out_h, out_w = dy.shape[2:]
    patches = by_group(windows(x, shape[2:], stride, padding, dilation), groups)[:, :, :, :out_h, :out_w]
    return np.einsum("ngohw,ngchwij->gocij", by_group(dy, groups), patches).reshape(shape)


def magnitude(dy, x, **attributes):
    return conv2d_backward_weight(np.abs(dy), np.abs(x), **attributes), dy.shape[0] * dy.shape[2] * dy.shape[3]
