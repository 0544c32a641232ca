"""A matrix product added to something."""

import numpy as np


def terms(x, a, b, beta, alpha):
    shape, number = (a.shape[0], b.shape[1]), a.dtype.type
    with np.errstate(all="ignore"):
        product = number(alpha) * np.matmul(a, b) if alpha else np.zeros(shape, a.dtype)
        added = number(beta) * np.broadcast_to(x, shape) if beta else np.zeros(shape, a.dtype)
    return added, product


def addmm(x, a, b, *, beta, alpha):
    added, product = terms(x, a, b, beta, alpha)
    return added + product


def magnitude(x, a, b, *, beta, alpha):
    added, product = terms(np.abs(x), np.abs(a), np.abs(b), abs(beta), abs(alpha))
    return added + product, a.shape[1] + 1
