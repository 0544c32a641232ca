"""Normalisation over the last axes."""

import numpy as np


def layer_norm(x, weight, bias, *, axes, epsilon):
    last = tuple(range(x.ndim - axes, x.ndim))
    mean = np.mean(x, axis=last, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=last, keepdims=True)
    rstd = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    y = (x - mean) * rstd
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    leading = x.shape[: x.ndim - axes]
    return y, mean.reshape(leading), rstd.reshape(leading)
