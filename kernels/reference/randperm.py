"""The order of uniform float64 numbers."""

import numpy as np

from .uniform import uniform


def randperm(*, n, dtype, seed, offset):
    draws = uniform(shape=(n,), dtype=np.float64, seed=seed, offset=offset)
    return np.argsort(draws, kind="stable").astype(dtype)
