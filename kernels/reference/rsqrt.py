"""1 / sqrt(x)."""

import numpy as np


def rsqrt(x):
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(x)
