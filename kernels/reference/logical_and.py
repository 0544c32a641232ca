"""Both are true."""

import numpy as np


def logical_and(a, b):
    with np.errstate(all="ignore"):
        return (a != 0) & (b != 0)
