"""The divergence of a target distribution from exp(x)."""

import numpy as np

from ._losses import reduced


def kl_div(x, target, *, log_target, reduction):
    with np.errstate(all="ignore"):
        if log_target:
            each = np.exp(target) * (target - x)
        else:
            each = np.where(target == 0, target, target * np.log(np.where(target == 0, 1, target))) - target * x
        batch = x.dtype.type(x.shape[0] if x.ndim else 1)
        if reduction == "batchmean":
            return np.sum(each) / batch
    return reduced(each, reduction)
