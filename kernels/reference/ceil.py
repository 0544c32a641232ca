"""The least integer not below x."""

import numpy as np


def ceil(x):
    if x.dtype.kind in "iu":
        return x.copy()
    with np.errstate(all="ignore"):
        return np.ceil(x)
