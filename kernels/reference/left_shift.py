"""The bits of a moved up; 0 where b is negative or not less than their number."""

import numpy as np


def left_shift(a, b):
    inside = (b >= 0) & (b < a.dtype.itemsize * 8)
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0).astype(a.dtype)), a.dtype.type(0))
