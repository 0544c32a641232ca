"""Every bit turned; of a bool, not x."""

import numpy as np


def bitwise_not(x):
    return np.invert(x)
