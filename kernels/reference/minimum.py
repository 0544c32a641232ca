"""The smaller one; NaN if one is NaN."""

import numpy as np


def minimum(a, b):
    with np.errstate(all="ignore"):
        return np.minimum(a, b)
