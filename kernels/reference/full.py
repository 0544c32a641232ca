"""One value everywhere."""

import numpy as np

from ._cast import convert


def full(*, shape, value, dtype):
    return np.broadcast_to(convert(np.asarray(value), dtype), shape).copy()
