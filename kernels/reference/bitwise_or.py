"""The bits that are in a or b."""

import numpy as np


def bitwise_or(a, b):
    return np.bitwise_or(a, b)
