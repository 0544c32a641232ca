"""Convolution and its transpose over any number of axes."""

import numpy as np

from ._sliding import counts, sliding


def convolve(x, weight, bias, stride, padding, dilation, groups):
    window = weight.shape[2:]
    places = counts(x.shape, window, stride, padding, dilation)
    patches = sliding(x, window, stride, padding, dilation, places)
    channels = weight.shape[1]
    patches = patches.reshape(x.shape[0], groups, channels, int(np.prod(places)), int(np.prod(window)))
    kernels = weight.reshape(groups, weight.shape[0] // groups, channels, -1)
    y = np.einsum("ngcpk,gock->ngop", patches, kernels).reshape(x.shape[0], weight.shape[0], *places)
    return y if bias is None else y + bias.reshape(-1, *[1] * len(places))


def transposed_size(size, window, stride, padding, output_padding, dilation):
    return (size - 1) * stride - 2 * padding + dilation * (window - 1) + output_padding + 1


def spread(x, weight, bias, stride, padding, output_padding, dilation, groups):
    """Each x goes, times the weight, to all places of the window that it stands for; then the padding is cut off."""
    sizes, window, n = x.shape[2:], weight.shape[2:], x.shape[0]
    whole = [(s - 1) * t + d * (k - 1) + 1 + o
             for s, t, d, k, o in zip(sizes, stride, dilation, window, output_padding, strict=True)]  # fmt: skip
    y = np.zeros((n, groups, weight.shape[1], *whole), x.dtype)
    x = x.reshape(n, groups, x.shape[1] // groups, *sizes)
    kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    for at in np.ndindex(*window):
        place = tuple(slice(i * d, i * d + (s - 1) * t + 1, t)
                      for i, d, s, t in zip(at, dilation, sizes, stride, strict=True))  # fmt: skip
        y[(..., *place)] += np.einsum("ngi...,gio->ngo...", x, kernels[(..., *at)])
    cut = tuple(slice(p, size - p) for p, size in zip(padding, whole, strict=True))
    y = y[(..., *cut)].reshape(n, groups * weight.shape[1], *[c.stop - c.start for c in cut])
    return y if bias is None else y + bias.reshape(-1, *[1] * len(sizes))
