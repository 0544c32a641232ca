"""The magnitude of a with the sign of b."""

import numpy as np


def copysign(a, b):
    return np.copysign(a, b)
