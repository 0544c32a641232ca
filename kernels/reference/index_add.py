"""Slices added by index."""

import numpy as np

from ._indices import checked


def index_add(x, index, source, *, axis):
    y = np.array(x)
    place = (slice(None),) * axis + (checked(index, x.shape[axis]),)
    (np.logical_or if x.dtype == np.bool_ else np.add).at(y, place, source)
    return y


def magnitude(x, index, source, *, axis):
    """Sums of absolute values, and how many terms each sum has."""
    terms = index_add(np.ones(x.shape), index, np.ones(source.shape), axis=axis)
    return index_add(np.abs(x), index, np.abs(source), axis=axis), terms
