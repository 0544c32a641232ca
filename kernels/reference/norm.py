"""The p-norm along axes."""

import numpy as np


def norm(x, *, p, axis, keepdim):
    axes, size = tuple(axis), np.abs(x)
    with np.errstate(all="ignore"):
        if p == np.inf:
            return np.maximum.reduce(size, axis=axes, keepdims=keepdim, initial=0.0)
        if p == -np.inf:
            return np.minimum.reduce(size, axis=axes, keepdims=keepdim, initial=np.inf)
        if p == 0:
            return np.sum(x != 0, axis=axes, keepdims=keepdim).astype(x.dtype)
        if p == 2:
            return np.sqrt(np.sum(size * size, axis=axes, keepdims=keepdim))
        return np.power(np.sum(np.power(size, p), axis=axes, keepdims=keepdim), 1 / p)
