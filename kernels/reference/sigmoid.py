"""1 / (1 + exp(-x))."""

import numpy as np


def sigmoid(x):
    with np.errstate(all="ignore"):
        return 1 / (1 + np.exp(-x))
