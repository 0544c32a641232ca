"""Cross-correlation over one axis."""

import numpy as np

from ._convolution import convolve


def conv1d(x, weight, bias, *, stride, padding, dilation, groups):
    return convolve(x, weight, bias, stride, padding, dilation, groups)


def magnitude(x, weight, bias, **attributes):
    bias = None if bias is None else np.abs(bias)
    return conv1d(np.abs(x), np.abs(weight), bias, **attributes), int(np.prod(weight.shape[1:])) + (bias is not None)
