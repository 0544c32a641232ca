"""The greater one; NaN if one is NaN."""

import numpy as np


def maximum(a, b):
    with np.errstate(all="ignore"):
        return np.maximum(a, b)
