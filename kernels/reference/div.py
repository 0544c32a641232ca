"""a / b."""

import numpy as np


def div(a, b):
    with np.errstate(all="ignore"):
        return a / b
