"""Root mean square normalisation over the last axes."""

import numpy as np


def rms_norm(x, weight, *, axes, epsilon):
    last = tuple(range(x.ndim - axes, x.ndim))
    rstd = 1 / np.sqrt(np.mean(x * x, axis=last, keepdims=True) + x.dtype.type(epsilon))
    y = x * rstd
    return y if weight is None else y * weight, rstd.reshape(x.shape[: x.ndim - axes])
