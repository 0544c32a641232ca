"""0 above a diagonal."""

import numpy as np


def tril(x, *, diagonal):
    y = np.zeros_like(x)
    for row, column in np.ndindex(x.shape[-2:]):
        if column - row <= diagonal:
            y[..., row, column] = x[..., row, column]
    return y
