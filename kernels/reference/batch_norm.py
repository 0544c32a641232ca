"""Normalisation of each channel over the batch."""

import numpy as np

from ._channels import per_channel, scaled


def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon):
    axes, count = (0, *range(2, x.ndim)), x.dtype.type(x.size // max(x.shape[1], 1))
    with np.errstate(all="ignore"):
        mean = np.sum(x, axis=axes) / count if running_mean is None else running_mean
        centred = x - per_channel(mean, x.ndim)
        var = np.sum(centred * centred, axis=axes) / count if running_var is None else running_var
        normal = centred / np.sqrt(per_channel(var, x.ndim) + x.dtype.type(epsilon))
    return scaled(normal, weight, bias), mean, var
