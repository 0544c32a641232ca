"""The gradients of rms_norm for x and weight."""

import numpy as np


def rms_norm_backward(dy, x, weight, *, axes, epsilon):
    last, first = tuple(range(x.ndim - axes, x.ndim)), tuple(range(x.ndim - axes))
    rstd = 1 / np.sqrt(np.mean(x * x, axis=last, keepdims=True) + x.dtype.type(epsilon))
    normal = x * rstd
    scaled = dy if weight is None else dy * weight
    dx = rstd * (scaled - normal * np.mean(scaled * normal, axis=last, keepdims=True))
    return dx, np.sum(dy * normal, axis=first)
