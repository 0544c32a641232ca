"""Matrix product."""

import numpy as np


def matmul(a, b):
    with np.errstate(all="ignore"):
        return np.matmul(a, b)


def magnitude(a, b):
    return np.matmul(np.abs(a), np.abs(b)), a.shape[-1]
