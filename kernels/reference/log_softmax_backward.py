"""The gradient of log_softmax from its result."""

import numpy as np


def log_softmax_backward(dy, y, *, axis):
    with np.errstate(all="ignore"):
        return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)
