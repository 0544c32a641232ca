"""Indices: checked, and turned into places."""

import numpy as np


def checked(index, size):
    """Indices counted from 0. Raises IndexError for one outside -size .. size - 1."""
    index = np.asarray(index, np.int64)
    bad = (index < -size) | (index >= size)
    if bad.any():
        raise IndexError(f"index {index[bad].ravel()[0]} is outside an axis of size {size}")
    return np.where(index < 0, index + size, index)


def checked_classes(target, kept, classes):
    """Class numbers; 0 where the row is not kept. Raises IndexError for one outside 0 .. classes - 1."""
    outside = kept & ((target < 0) | (target >= classes))
    if outside.any():
        raise IndexError(f"target {target[outside][0]} is none of {classes} classes")
    return np.where(kept, target, 0)


def places(index, shape, axis):
    """For each element of index, where it lies in a tensor of that shape: one array an axis."""
    if not shape:  # no axes: one element, and the index says so
        checked(index, 1)
        return ()
    where = list(np.indices(index.shape, sparse=False))
    where[axis] = checked(index, shape[axis])
    return tuple(where)
