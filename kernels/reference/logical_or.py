"""One is true."""

import numpy as np


def logical_or(a, b):
    with np.errstate(all="ignore"):
        return (a != 0) | (b != 0)
