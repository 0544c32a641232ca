"""Uniform random numbers in [0, 1)."""

import math

import numpy as np

from ._philox import blocks, doubles

BITS = {"float32": 24, "float16": 11, "bfloat16": 8}


def uniform(*, shape, dtype, seed, offset):
    n, dtype = math.prod(shape), np.dtype(dtype)
    if dtype == np.float64:
        words = blocks(seed, offset, -(-n // 2)).reshape(-1, 2)[:n]
        return (doubles(words[:, 0], words[:, 1]) * 2.0**-53).reshape(shape)
    words = blocks(seed, offset, -(-n // 4)).reshape(-1)[:n]
    bits = BITS[dtype.name]
    return ((words >> np.uint32(32 - bits)).astype(np.float64) * 2.0**-bits).astype(dtype).reshape(shape)
