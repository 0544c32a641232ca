"""The gradient of cross_entropy for x."""

import numpy as np

from ._indices import checked_classes
from .softmax import softmax


def cross_entropy_backward(dy, x, target, weight, *, reduction, ignore_index, label_smoothing):
    classes = x.shape[1]
    kept = target != ignore_index
    index = checked_classes(target, kept, classes)
    weight = np.ones(classes, x.dtype) if weight is None else weight
    smoothing = x.dtype.type(label_smoothing)
    # The loss is -sum(coefficient * log_softmax).
    coefficient = np.tile(smoothing / x.dtype.type(classes) * weight, (len(target), 1))
    coefficient[np.arange(len(target)), index] += (1 - smoothing) * weight[index]
    dx = softmax(x, axis=1) * np.sum(coefficient, axis=1, keepdims=True) - coefficient
    scale = dy if reduction == "none" else np.broadcast_to(dy, len(target))
    if reduction == "mean":
        with np.errstate(all="ignore"):
            scale = scale / np.sum(np.where(kept, weight[index], 0))
    return np.where(kept[:, None], dx * scale[:, None], x.dtype.type(0))
