"""The greatest value of each window."""

from ._sliding import max_pool


def max_pool2d(x, *, kernel_size, stride, padding, dilation, ceil_mode):
    return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)
