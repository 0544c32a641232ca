"""The cross entropy of target probabilities."""

import numpy as np

from ._losses import reduced
from .log_softmax import log_softmax


def cross_entropy_probabilities(x, target, weight, *, axis, reduction, label_smoothing):
    """As PyTorch defines it: the mean is over rows, whatever their weights."""
    number = x.dtype.type
    if label_smoothing:
        target = target * number(1 - label_smoothing) + number(label_smoothing) / number(x.shape[axis])
    if weight is not None:
        target = target * weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return reduced(-np.sum(target * log_softmax(x, axis=axis), axis=axis), reduction)
