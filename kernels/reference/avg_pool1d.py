"""The mean of each window."""

import numpy as np

from ._sliding import avg_pool


def avg_pool1d(x, *, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def magnitude(x, *, kernel_size, **attributes):
    return avg_pool1d(np.abs(x), kernel_size=kernel_size, **attributes), int(np.prod(kernel_size))
