"""The negative log likelihood of class indices from log probabilities."""

import numpy as np

from ._indices import checked_classes


def nll_loss(x, target, weight, *, reduction, ignore_index):
    kept = target != ignore_index
    index = checked_classes(target, kept, x.shape[1])
    weights = np.ones(x.shape[1], x.dtype)[index] if weight is None else weight[index]
    with np.errstate(all="ignore"):
        each = np.where(kept, -x[np.arange(len(target)), index] * weights, x.dtype.type(0))
        total = np.sum(each)
        return {"none": each, "sum": total, "mean": total / np.sum(np.where(kept, weights, x.dtype.type(0)))}[reduction]
