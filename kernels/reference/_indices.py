"""Index arithmetic of gather and scatter."""

import numpy as np


def checked(index, size):
    """Indices counted from 0. Raises IndexError for one outside -size .. size - 1."""
    index = np.asarray(index, np.int64)
    bad = (index < -size) | (index >= size)
    if bad.any():
        raise IndexError(f"index {index[bad].ravel()[0]} is outside an axis of size {size}")
    return np.where(index < 0, index + size, index)


def places(index, shape, axis):
    """For each element of index, where it lies in a tensor of that shape: one array an axis."""
    where = list(np.indices(index.shape, sparse=False))
    where[axis] = checked(index, shape[axis])
    return tuple(where)
