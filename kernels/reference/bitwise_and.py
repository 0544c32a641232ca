"""The bits that are in both."""

import numpy as np


def bitwise_and(a, b):
    return np.bitwise_and(a, b)
