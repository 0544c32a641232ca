"""The gradient of avg_pool2d: each window gives its dy, divided, to all elements of x that it holds."""

import numpy as np

from ._sliding import pool_areas


def avg_pool2d_backward(dy, *, shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    areas = pool_areas(shape[2:], kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    share = dy / areas.astype(dy.dtype)
    room = [max((o - 1) * s + k, n + 2 * p)
            for o, s, k, n, p in zip(areas.shape, stride, kernel_size, shape[2:], padding, strict=True)]  # fmt: skip
    dx = np.zeros((*shape[:2], *room), dy.dtype)
    for at in np.ndindex(*kernel_size):
        rows, columns = (slice(i, i + (o - 1) * s + 1, s) for i, o, s in zip(at, areas.shape, stride, strict=True))
        dx[:, :, rows, columns] += share
    return dx[:, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]]


def magnitude(dy, *, kernel_size, stride, **attributes):
    terms = np.prod([-(-k // s) for k, s in zip(kernel_size, stride, strict=True)])
    return avg_pool2d_backward(np.abs(dy), kernel_size=kernel_size, stride=stride, **attributes), int(terms) + 1
