"""max(x, 0); NumPy's maximum propagates NaN."""

import numpy as np


def relu(x):
    with np.errstate(all="ignore"):
        return np.maximum(x, x.dtype.type(0))
