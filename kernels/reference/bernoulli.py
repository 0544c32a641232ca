"""1 where a uniform float64 is less than p."""

import numpy as np

from .uniform import uniform


def bernoulli(*, shape, p, dtype, seed, offset):
    return (uniform(shape=shape, dtype=np.float64, seed=seed, offset=offset) < p).astype(dtype)
