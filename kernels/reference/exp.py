"""e to the power of x."""

import numpy as np


def exp(x):
    with np.errstate(all="ignore"):
        return np.exp(x)
