"""Whether one is zero and the other is not."""

import numpy as np


def logical_xor(a, b):
    return np.logical_xor(a, b)
