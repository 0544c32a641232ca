"""The nearest integer; of two as near the even one."""

import numpy as np


def round(x):
    if x.dtype.kind in "iu":
        return x.copy()
    with np.errstate(all="ignore"):
        return np.rint(x)
