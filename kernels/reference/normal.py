"""Normal random numbers."""

import math

import numpy as np

from ._philox import blocks, doubles


def normal(*, shape, dtype, seed, offset):
    """Box-Muller in float64, rounded by whoever compares."""
    n = math.prod(shape)
    if np.dtype(dtype) == np.float64:
        words = blocks(seed, offset, -(-n // 2))
        u1 = (doubles(words[:, 0], words[:, 1]) + 1) * 2.0**-53
        u2 = doubles(words[:, 2], words[:, 3]) * 2.0**-53
    else:
        words = blocks(seed, offset, -(-n // 4)).reshape(-1, 2)
        u1 = ((words[:, 0] >> np.uint32(8)).astype(np.float64) + 1) * 2.0**-24
        u2 = (words[:, 1] >> np.uint32(8)).astype(np.float64) * 2.0**-24
    radius = np.sqrt(-2 * np.log(u1))
    pairs = np.stack([radius * cosine(u2), radius * cosine(u2 - 0.25)], axis=1)
    return pairs.reshape(-1)[:n].reshape(shape)


def cosine(turns):
    """cos(2 pi turns) with an exact reduction to an eighth of a turn, so that values near zero are right too."""
    eighths = np.round(turns * 4)
    rest = (turns - eighths / 4) * 2 * math.pi
    quarter = eighths.astype(np.int64) % 4
    return np.choose(quarter, [np.cos(rest), -np.sin(rest), -np.cos(rest), np.sin(rest)])
