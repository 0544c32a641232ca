"""Values before and after x on each axis; negative padding cuts."""

import numpy as np

from ._cast import convert


def pad(x, *, padding, value):
    pairs = list(zip(padding[::2], padding[1::2], strict=True))
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    widths = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if not widths:
        return cut.copy()
    return np.pad(cut, widths, constant_values=convert(np.asarray(value), x.dtype))
