"""Evenly spaced values: float64 arithmetic, rounded once; the last one is the stop itself."""

import numpy as np

from ._cast import convert


def linspace(*, start, stop, count, dtype):
    if count < 2:
        return convert(np.full(count, float(start)), dtype)
    values = float(start) + np.arange(count, dtype=np.float64) * ((float(stop) - float(start)) / (count - 1))
    values[-1] = stop
    return convert(values, dtype)
