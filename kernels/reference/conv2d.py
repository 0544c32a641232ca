"""Cross-correlation of images."""

import numpy as np

from ._windows import by_group, windows


def conv2d(x, weight, bias, *, stride, padding, dilation, groups):
    patches = by_group(windows(x, weight.shape[2:], stride, padding, dilation), groups)
    kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", patches, kernels)
    y = y.reshape(x.shape[0], weight.shape[0], *y.shape[3:])
    return y if bias is None else y + bias[:, None, None]


def magnitude(x, weight, bias, **attributes):
    bias = None if bias is None else np.abs(bias)
    return conv2d(np.abs(x), np.abs(weight), bias, **attributes), int(np.prod(weight.shape[1:])) + (bias is not None)
