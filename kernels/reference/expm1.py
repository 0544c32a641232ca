"""exp(x) - 1 without loss of digits near 0."""

import numpy as np


def expm1(x):
    with np.errstate(all="ignore"):
        return np.expm1(x)
