"""Elements set to zero at random."""

import numpy as np

from .uniform import uniform


def dropout(x, *, p, seed, offset):
    dropped = uniform(shape=x.shape, dtype=np.float32, seed=seed, offset=offset) < np.float32(p)
    return np.where(dropped, x.dtype.type(0), x * x.dtype.type(1 / (1 - p) if p < 1 else 1))
