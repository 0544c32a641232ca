"""Whether an element along axes is not zero; false over nothing."""

import numpy as np


def any(x, *, axis, keepdim):
    return np.any(x != 0, axis=tuple(axis), keepdims=keepdim)
