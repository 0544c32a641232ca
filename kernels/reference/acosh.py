"""The inverse of the hyperbolic cosine; NaN below 1."""

import numpy as np


def acosh(x):
    with np.errstate(all="ignore"):
        return np.arccosh(x)
