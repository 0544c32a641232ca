"""x + value * (a / b)."""

import numpy as np

from ._cast import convert


def addcdiv(x, a, b, *, value):
    with np.errstate(all="ignore"):
        return x + convert(np.asarray(value), x.dtype) * (a / b)
