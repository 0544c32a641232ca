"""Values of channels, axis 1, beside tensors (batch, channels, ...)."""

import numpy as np


def per_channel(values, ndim):
    """(channels,) as (1, channels, 1, ...)."""
    return np.reshape(values, (1, -1, *[1] * (ndim - 2)))


def scaled(normal, weight, bias):
    normal = normal if weight is None else normal * per_channel(weight, normal.ndim)
    return normal if bias is None else normal + per_channel(bias, normal.ndim)


def standardised(x, axes, epsilon):
    """(x - mean) / sqrt(variance + epsilon) over axes."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + x.dtype.type(epsilon))
