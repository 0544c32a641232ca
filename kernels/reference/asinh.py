"""The inverse of the hyperbolic sine."""

import numpy as np


def asinh(x):
    with np.errstate(all="ignore"):
        return np.arcsinh(x)
