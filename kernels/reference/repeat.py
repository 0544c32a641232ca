"""Slices repeated."""

import numpy as np


def repeat(x, *, repeats, axis):
    return np.repeat(x, repeats, axis)
