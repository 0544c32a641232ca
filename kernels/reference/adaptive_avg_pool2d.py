"""The means of the pieces that an axis is cut into."""

import numpy as np

from ._sliding import adaptive_avg_pool


def adaptive_avg_pool2d(x, *, output_size):
    return adaptive_avg_pool(x, output_size)


def magnitude(x, *, output_size):
    terms = [-(-n // m) + 1 for n, m in zip(x.shape[-2:], output_size, strict=True)]
    return adaptive_avg_pool(np.abs(x), output_size), int(np.prod(terms))
