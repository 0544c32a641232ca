"""x times the standard normal distribution function."""

import math

import numpy as np

from .erf import erf


def gelu(x):
    with np.errstate(all="ignore"):
        return x * ((1 + erf(x * x.dtype.type(1 / math.sqrt(2)))) / 2)
