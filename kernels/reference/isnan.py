"""Whether x is NaN."""

import numpy as np


def isnan(x):
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, np.bool_)
