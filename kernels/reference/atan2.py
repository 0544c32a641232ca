"""The angle of the point (b, a)."""

import numpy as np


def atan2(a, b):
    with np.errstate(all="ignore"):
        return np.arctan2(a, b)
