"""The negative log likelihood of sigmoid(x)."""

import numpy as np

from ._losses import reduced


def binary_cross_entropy_with_logits(x, target, weight, pos_weight, *, reduction):
    with np.errstate(all="ignore"):
        tail = np.log1p(np.exp(-np.abs(x)))  # -log(sigmoid(|x|))
        yes, no = tail + np.maximum(-x, 0), tail + np.maximum(x, 0)
        each = (target if pos_weight is None else target * pos_weight) * yes + (1 - target) * no
        each = each if weight is None else each * weight
    return reduced(each, reduction)
