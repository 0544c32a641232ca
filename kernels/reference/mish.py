"""x * tanh(log(1 + exp(x)))."""

import numpy as np


def mish(x):
    with np.errstate(all="ignore"):
        return x * np.tanh(np.log1p(np.exp(x)))
