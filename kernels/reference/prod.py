"""The product along axes."""

import numpy as np


def prod(x, *, axis, keepdim):
    with np.errstate(all="ignore"):
        return np.multiply.reduce(x, axis=tuple(axis), keepdims=keepdim)
