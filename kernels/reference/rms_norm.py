"""Root mean square normalisation over the last axes."""

import numpy as np


def rms_norm(x, weight, *, axes, epsilon):
    last = tuple(range(x.ndim - axes, x.ndim))
    y = x / np.sqrt(np.mean(x * x, axis=last, keepdims=True) + x.dtype.type(epsilon))
    return y if weight is None else y * weight
