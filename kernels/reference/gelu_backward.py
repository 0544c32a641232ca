"""The gradient of gelu."""

import math

import numpy as np

from .erf import erf


def gelu_backward(dy, x):
    """dy * (Phi(x) + x * phi(x))."""
    root = x.dtype.type(1 / math.sqrt(2))
    with np.errstate(all="ignore"):
        density = np.exp(-x * x / 2) * x.dtype.type(1 / math.sqrt(2 * math.pi))
        return dy * ((1 + erf(x * root)) / 2 + x * density)
