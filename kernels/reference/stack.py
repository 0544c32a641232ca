"""Tensors on a new axis."""

import numpy as np


def stack(*tensors, axis):
    return np.stack(tensors, axis)
