"""Whether no element along axes is zero; true over nothing."""

import numpy as np


def all(x, *, axis, keepdim):
    return np.all(x != 0, axis=tuple(axis), keepdims=keepdim)
