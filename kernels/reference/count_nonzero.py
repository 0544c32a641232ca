"""How many elements are not zero."""

import numpy as np


def count_nonzero(x, *, axis, keepdim):
    return np.sum(x != 0, axis=tuple(axis), keepdims=keepdim, dtype=np.int64)
