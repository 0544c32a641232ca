"""a < b."""

import numpy as np


def lt(a, b):
    with np.errstate(all="ignore"):
        return a < b
