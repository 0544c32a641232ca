"""The logarithm of the sum of exponentials, from the greatest of them."""

import numpy as np


def logsumexp(x, *, axis, keepdim):
    axes = tuple(axis)
    with np.errstate(all="ignore"):
        greatest = np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
        greatest = np.where(np.isfinite(greatest), greatest, 0)
        result = greatest + np.log(np.sum(np.exp(x - greatest), axis=axes, keepdims=True))
    return result if keepdim else np.squeeze(result, axes)
