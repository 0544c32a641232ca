"""The smallest value along axes; NaN if one is NaN."""

import numpy as np


def min(x, *, axis, keepdim):
    return np.min(x, axis=tuple(axis), keepdims=keepdim)
