"""A stable sort; NumPy puts NaN last."""

import numpy as np


def sort(x, *, axis, descending):
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    if descending:  # the reverse of the ascending order of the reversed row: equal elements keep their order
        order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    return np.take_along_axis(x, order, axis), order.astype(np.int64)
