"""The inverse of the cosine; NaN outside -1 to 1."""

import numpy as np


def acos(x):
    with np.errstate(all="ignore"):
        return np.arccos(x)
