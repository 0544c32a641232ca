"""Products of matrices, batch by batch."""

import numpy as np


def bmm(a, b):
    with np.errstate(all="ignore"):
        return np.einsum("bij,bjk->bik", a, b) if a.size and b.size else np.zeros((*a.shape[:2], b.shape[2]), a.dtype)


def magnitude(a, b):
    return bmm(np.abs(a), np.abs(b)), a.shape[2]
