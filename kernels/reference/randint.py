"""Random integers: a uniform float64 times the range, rounded down."""

import numpy as np

from .uniform import uniform


def randint(*, shape, low, high, dtype, seed, offset):
    steps = np.floor(uniform(shape=shape, dtype=np.float64, seed=seed, offset=offset) * (high - low))
    return (steps.astype(np.int64) + low).astype(dtype)
