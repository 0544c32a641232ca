"""a <= b."""

import numpy as np


def le(a, b):
    with np.errstate(all="ignore"):
        return a <= b
