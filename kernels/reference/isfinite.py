"""Whether x is neither infinite nor NaN."""

import numpy as np


def isfinite(x):
    return np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, np.bool_)
