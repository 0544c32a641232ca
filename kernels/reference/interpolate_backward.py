"""The gradient of interpolate: each dy goes, times its weight, to the elements that its place was made of."""

import numpy as np

from .interpolate import taps


def interpolate_backward(dy, *, axis, size, mode, align_corners, step):
    return spread(dy, axis, size, mode, align_corners, step, lambda weight: dy.dtype.type(weight))


def spread(dy, axis, size, mode, align_corners, step, weigh):
    dx = np.moveaxis(np.zeros((*dy.shape[:axis], size, *dy.shape[axis + 1 :]), dy.dtype), axis, 0)
    rows = np.moveaxis(dy, axis, 0)
    for o in range(len(rows)):
        for place, weight in taps(o, size, len(rows), mode, align_corners, step):
            dx[min(max(place, 0), size - 1)] += weigh(weight) * rows[o]
    return np.moveaxis(dx, 0, axis)


def magnitude(dy, *, axis, size, mode, align_corners, step):
    terms = {"linear": 8, "cubic": 16}.get(mode, 1) * (dy.shape[axis] // size + 2)
    return spread(np.abs(dy), axis, size, mode, align_corners, step, abs), terms
