"""x, but not below min_val nor above max_val."""

import numpy as np


def hardtanh(x, *, min_val, max_val):
    with np.errstate(all="ignore"):
        return np.minimum(np.maximum(x, min_val), max_val)
