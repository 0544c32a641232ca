"""The gradients of batch_norm for x, weight and bias."""

import numpy as np

from ._channels import per_channel


def batch_norm_backward(dy, x, weight, mean, var, *, epsilon, running):
    """By the chain rule: x acts on its own y, and unless they are given by mean and variance on all of its channel."""
    axes = (0, *range(2, x.ndim))
    rstd = 1 / np.sqrt(per_channel(var, x.ndim) + x.dtype.type(epsilon))
    centred = x - per_channel(mean, x.ndim)
    dweight, dbias = np.sum(dy * centred * rstd, axis=axes), np.sum(dy, axis=axes)
    dnormal = dy if weight is None else dy * per_channel(weight, x.ndim)
    if running or x.size == 0:
        return dnormal * rstd, dweight, dbias
    items = x.dtype.type(x.size // x.shape[1])
    dvar = -np.sum(dnormal * centred, axis=axes, keepdims=True) * rstd * rstd * rstd / x.dtype.type(2)
    dmean = -np.sum(dnormal, axis=axes, keepdims=True) * rstd
    return dnormal * rstd + dvar * x.dtype.type(2) * centred / items + dmean / items, dweight, dbias
