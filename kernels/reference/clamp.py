"""Raised to min, then lowered to max: where min is above max, max it is. NumPy's maximum and minimum propagate NaN."""

import numpy as np


def clamp(x, min, max):
    y = x.copy() if min is None else np.maximum(x, min)
    return y if max is None else np.minimum(y, max)
