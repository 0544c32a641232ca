"""The places of elements that are not zero; rows beyond the last of them are 0."""

import numpy as np


def nonzero(x, *, count):
    found = np.argwhere(np.asarray(x) != 0)[:count]
    y = np.zeros((count, x.ndim), np.int64)
    y[: len(found)] = found
    return y
