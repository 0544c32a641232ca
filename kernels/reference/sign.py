"""The sign."""

import numpy as np


def sign(x):
    with np.errstate(all="ignore"):
        return np.sign(x)
