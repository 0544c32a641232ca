"""The gradients of layer_norm for x, weight and bias."""

import numpy as np


def layer_norm_backward(dy, x, weight, mean, rstd, *, axes):
    last, first = tuple(range(x.ndim - axes, x.ndim)), tuple(range(x.ndim - axes))
    mean, rstd = (np.reshape(t, (*x.shape[: x.ndim - axes], *[1] * axes)) for t in (mean, rstd))
    normal = (x - mean) * rstd
    scaled = dy if weight is None else dy * weight
    centred = scaled - np.mean(scaled, axis=last, keepdims=True)
    dx = rstd * (centred - normal * np.mean(scaled * normal, axis=last, keepdims=True))
    return dx, np.sum(dy * normal, axis=first), np.sum(dy, axis=first)
