"""x * x; integers wrap."""

import numpy as np


def square(x):
    with np.errstate(all="ignore"):
        return x * x
