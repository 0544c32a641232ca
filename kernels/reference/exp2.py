"""2 to the power of x."""

import numpy as np


def exp2(x):
    with np.errstate(all="ignore"):
        return np.exp2(x)
