"""a == b."""

import numpy as np


def eq(a, b):
    with np.errstate(all="ignore"):
        return a == b
