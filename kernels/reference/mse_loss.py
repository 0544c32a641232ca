"""Squared differences."""

import numpy as np

from ._losses import reduced


def mse_loss(x, target, *, reduction):
    with np.errstate(all="ignore"):
        each = (x - target) ** 2
    return reduced(each, reduction)
