"""Tensors joined along an axis."""

import numpy as np


def cat(*tensors, axis):
    return np.concatenate(tensors, axis)
