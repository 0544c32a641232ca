"""Values picked along an axis."""

from ._indices import places


def gather(x, index, *, axis):
    return x[places(index, x.shape, axis)]
