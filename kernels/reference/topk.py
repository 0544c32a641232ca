"""The first elements of a stable sort; NaN is the greatest."""

import numpy as np


def topk(x, *, k, axis, largest):
    rows = np.moveaxis(x, axis, -1)
    order = np.argsort(rows, -1, kind="stable")
    if largest:  # from the end, and equal ones from the front: the stable order of the reversed row, reversed
        order = np.flip(rows.shape[-1] - 1 - np.argsort(np.flip(rows, -1), -1, kind="stable"), -1)
    order = np.moveaxis(order[..., :k], -1, axis)
    return np.take_along_axis(x, order, axis), order.astype(np.int64)
