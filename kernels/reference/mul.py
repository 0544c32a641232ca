"""a * b; and, for bool."""

import numpy as np


def mul(a, b):
    with np.errstate(all="ignore"):
        return a * b
