"""The bits that are in one of a and b, not both."""

import numpy as np


def bitwise_xor(a, b):
    return np.bitwise_xor(a, b)
