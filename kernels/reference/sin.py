"""The sine."""

import numpy as np


def sin(x):
    with np.errstate(all="ignore"):
        return np.sin(x)
