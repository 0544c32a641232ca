"""log(1 / (1 + exp(-x))), which does not overflow."""

import numpy as np


def log_sigmoid(x):
    with np.errstate(all="ignore"):
        return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
