"""x without its fraction."""

import numpy as np


def trunc(x):
    if x.dtype.kind in "iu":
        return x.copy()
    with np.errstate(all="ignore"):
        return np.trunc(x)
