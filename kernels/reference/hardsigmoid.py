"""x + 3, not below 0 nor above 6, divided by 6."""

import numpy as np


def hardsigmoid(x):
    with np.errstate(all="ignore"):
        return np.minimum(np.maximum(x + 3, 0), 6) / 6
