"""The inverse of the sine; NaN outside -1 to 1."""

import numpy as np


def asin(x):
    with np.errstate(all="ignore"):
        return np.arcsin(x)
