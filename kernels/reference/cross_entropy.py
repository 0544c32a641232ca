"""The negative log likelihood of class indices."""

import numpy as np

from ._indices import checked_classes
from .log_softmax import log_softmax


def cross_entropy(x, target, weight, *, reduction, ignore_index, label_smoothing):
    """As PyTorch defines it: with smoothing s, (1 - s) of the target's loss and s / classes of every class's."""
    classes = x.shape[1]
    kept = target != ignore_index
    index = checked_classes(target, kept, classes)
    weight = np.ones(classes, x.dtype) if weight is None else weight
    smoothing = x.dtype.type(label_smoothing)
    rows = np.arange(len(target))
    loss = -log_softmax(x, axis=1) * weight if len(target) else np.zeros_like(x)
    each = (1 - smoothing) * loss[rows, index]
    each = each + smoothing / x.dtype.type(classes) * np.sum(loss, axis=1) if label_smoothing else each
    each = np.where(kept, each, x.dtype.type(0))
    with np.errstate(all="ignore"):
        total = np.sum(each)
        return {"none": each, "sum": total, "mean": total / np.sum(np.where(kept, weight[index], 0))}[reduction]
