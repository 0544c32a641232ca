"""The greatest integer not above a / b; integers by zero give 0."""

import numpy as np


def floor_divide(a, b):
    with np.errstate(all="ignore"):
        return np.where(b == 0, a.dtype.type(0), a // b) if a.dtype.kind in "iu" else np.floor_divide(a, b)
