"""What is left of a by b, with the sign of a; integers by zero give 0."""

import numpy as np


def fmod(a, b):
    with np.errstate(all="ignore"):
        return np.where(b == 0, a.dtype.type(0), np.fmod(a, b)) if a.dtype.kind in "iu" else np.fmod(a, b)
