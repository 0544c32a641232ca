"""The index of the greatest value: the first one, NaN before all."""

import numpy as np


def argmax(x, *, axis, keepdim):
    return np.argmax(x, axis=axis, keepdims=keepdim).astype(np.int64)
