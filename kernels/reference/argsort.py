"""The places of a stable sort; NumPy puts NaN last."""

import numpy as np


def argsort(x, *, axis, descending):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if descending:
        flipped = np.argsort(np.flip(x, axis), axis, kind="stable")
        return np.flip(x.shape[axis] - 1 - flipped, axis).astype(np.int64)
    return np.argsort(x, axis, kind="stable").astype(np.int64)
