"""Not x."""

import numpy as np


def logical_not(x):
    with np.errstate(all="ignore"):
        return x == 0
