"""The negative log likelihood of a probability."""

import numpy as np

from ._losses import reduced


def binary_cross_entropy(x, target, weight, *, reduction):
    with np.errstate(all="ignore"):
        floor = x.dtype.type(-100)
        yes, no = np.maximum(np.log(x), floor), np.maximum(np.log1p(-x), floor)
        each = -(target * yes + (1 - target) * no)
        each = each if weight is None else each * weight
    return reduced(each, reduction)
