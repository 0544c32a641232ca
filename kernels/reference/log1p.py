"""log(1 + x) without loss of digits near 0."""

import numpy as np


def log1p(x):
    with np.errstate(all="ignore"):
        return np.log1p(x)
