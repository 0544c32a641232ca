"""The square root."""

import numpy as np


def sqrt(x):
    with np.errstate(all="ignore"):
        return np.sqrt(x)
