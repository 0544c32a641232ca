"""Values written or added by several indices."""

import numpy as np

from ._indices import checked


def index_put(x, index, source, *, accumulate):
    y = np.array(x)
    places = tuple(checked(one, size) for one, size in zip(index, x.shape, strict=False))
    if accumulate:
        (np.logical_or if x.dtype == np.bool_ else np.add).at(y, places, source)
        return y
    for place in np.ndindex(index.shape[1:]):  # in order: the last one of several stays
        y[tuple(axis_places[place] for axis_places in places)] = source[place]
    return y


def magnitude(x, index, source, *, accumulate):
    """Sums of absolute values, and how many terms each sum has."""
    if not accumulate:
        return np.abs(index_put(x, index, source, accumulate=False)), 1
    terms = index_put(np.ones(x.shape), index, np.ones(source.shape), accumulate=True)
    return index_put(np.abs(x), index, np.abs(source), accumulate=True), terms
