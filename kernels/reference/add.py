"""a + b; or, for bool."""

import numpy as np


def add(a, b):
    with np.errstate(all="ignore"):
        return a + b
