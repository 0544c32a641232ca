"""The length of the vector (a, b)."""

import numpy as np


def hypot(a, b):
    with np.errstate(all="ignore"):
        return np.hypot(a, b)
