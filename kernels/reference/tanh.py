"""The hyperbolic tangent."""

import numpy as np


def tanh(x):
    with np.errstate(all="ignore"):
        return np.tanh(x)
