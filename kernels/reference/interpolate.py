"""An axis sampled anew: from the nearest element, or from the line or the cubic through those around."""

from fractions import Fraction
from math import floor

import numpy as np


def interpolate(x, *, axis, size, mode, align_corners, step):
    y = np.moveaxis(np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype), axis, 0)
    rows = np.moveaxis(x, axis, 0)
    for o in range(size):
        for place, weight in taps(o, len(rows), size, mode, align_corners, step):
            y[o] += x.dtype.type(weight) * rows[min(max(place, 0), len(rows) - 1)]
    return np.moveaxis(y, 0, axis)


def taps(o, old, new, mode, align_corners, step):
    """[(place, weight)] of the element o of the result; the place on the old axis is an exact fraction."""
    ratio = Fraction(*step) if step[0] else Fraction(old, new)
    if mode == "nearest":
        return [(floor(o * ratio), 1)]
    centre = (o + Fraction(1, 2)) * ratio
    if mode == "nearest_exact":
        return [(floor(centre), 1)]
    source = Fraction(o * (old - 1), max(new - 1, 1)) if align_corners else centre - Fraction(1, 2)
    source = max(source, Fraction(0)) if mode == "linear" else source
    at = floor(source)
    if mode == "linear":
        return [(at, float(1 - (source - at))), (at + 1, float(source - at))]
    return [(k, float(cubic(abs(source - k)))) for k in range(at - 1, at + 3)]


def cubic(t, a=Fraction(-3, 4)):
    """Keys' kernel: how much an element at distance t counts."""
    return (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * (t**3 - 5 * t**2 + 8 * t - 4)


def magnitude(x, *, axis, size, mode, align_corners, step):
    total = np.zeros((size, *np.delete(x.shape, axis)))
    rows = np.moveaxis(np.abs(x), axis, 0)
    for o in range(size):
        for place, weight in taps(o, len(rows), size, mode, align_corners, step):
            total[o] += abs(weight) * rows[min(max(place, 0), len(rows) - 1)]
    return np.moveaxis(total, 0, axis), {"linear": 8, "cubic": 16}.get(mode, 1)
