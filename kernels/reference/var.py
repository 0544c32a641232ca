"""The variance along axes, in two passes."""

import numpy as np


def var(x, *, axis, keepdim, correction):
    axes = tuple(axis)
    count = x.dtype.type(np.prod([x.shape[a] for a in axes]))
    with np.errstate(all="ignore"):
        distance = x - np.sum(x, axis=axes, keepdims=True) / count
        divisor = np.maximum(count - x.dtype.type(correction), 0)
        return np.sum(distance * distance, axis=axes, keepdims=keepdim) / divisor
