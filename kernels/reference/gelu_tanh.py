"""x * (1 + tanh(u)) / 2 with u = sqrt(2 / pi) * (x + 0.044715 * x^3): near gelu."""

import numpy as np


def gelu_tanh(x):
    with np.errstate(all="ignore"):
        number = x.dtype.type
        u = number(0.7978845608028654) * (x + number(0.044715) * (x * x * x))
        return x / (1 + np.exp(-2 * u))
