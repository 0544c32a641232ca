"""Elements under a mask; places beyond the last of them take the first element of x."""

import numpy as np


def masked_select(x, mask, *, count):
    found = x[mask][:count]
    if len(found) == count:
        return found
    return np.concatenate([found, np.full(count - len(found), x.reshape(-1)[0], x.dtype)])
