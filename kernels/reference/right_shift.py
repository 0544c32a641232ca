"""The bits of a moved down; only its sign where b is negative or not less than their number."""

import numpy as np


def right_shift(a, b):
    last = a.dtype.itemsize * 8 - 1
    places = np.where((b >= 0) & (b < last), b, last).astype(a.dtype)
    shifted = np.right_shift(a, places)
    return shifted if a.dtype.kind == "i" else np.where((b >= 0) & (b <= last), shifted, a.dtype.type(0))
