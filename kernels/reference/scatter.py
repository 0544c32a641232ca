"""Values written or added along an axis."""

import numpy as np

from ._indices import places


def scatter(x, index, source, *, axis, reduce):
    y = np.array(x)
    where = places(index, x.shape, axis)
    if reduce == "add" and x.dtype == np.bool_:
        np.logical_or.at(y, where, source)
    elif reduce == "add":
        np.add.at(y, where, source)
    else:
        for place in np.ndindex(index.shape):  # in order: the last one of several stays
            y[tuple(axis_places[place] for axis_places in where)] = source[place]
    return y


def magnitude(x, index, source, *, axis, reduce):
    """Sums of absolute values, and how many terms each sum has."""
    if reduce != "add":
        return np.abs(scatter(x, index, source, axis=axis, reduce=reduce)), 1
    terms = scatter(np.ones(x.shape), index, np.ones(index.shape), axis=axis, reduce="add")
    return scatter(np.abs(x), index, np.abs(source), axis=axis, reduce="add"), terms
