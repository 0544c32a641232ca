"""The absolute value."""

import numpy as np


def abs(x):
    with np.errstate(all="ignore"):
        return np.abs(x)
