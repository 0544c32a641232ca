"""The transpose of cross-correlation over two axes."""

import numpy as np

from ._convolution import spread


def conv_transpose2d(x, weight, bias, *, stride, padding, output_padding, dilation, groups):
    return spread(x, weight, bias, stride, padding, output_padding, dilation, groups)


def magnitude(x, weight, bias, **attributes):
    ones = [None if t is None else np.ones_like(t) for t in (x, weight, bias)]
    bias = None if bias is None else np.abs(bias)
    total = conv_transpose2d(np.abs(x), np.abs(weight), bias, **attributes)
    return total, np.maximum(conv_transpose2d(*ones, **attributes), 1)
