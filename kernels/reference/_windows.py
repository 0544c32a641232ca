"""Sliding windows over images."""

import numpy as np


def windows(x, size, stride, padding, dilation, fill=0):
    """The windows of images (n, c, h, w), as a view (n, c, out h, out w, window h, window w) of a padded copy."""
    pad = [(0, 0), (0, 0), (padding[0], padding[0]), (padding[1], padding[1])]
    padded = np.pad(x, pad, constant_values=fill)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, size, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(2, 3))
    return view[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def by_group(channels_first, groups):
    """(n, c, ...) as (n, groups, c / groups, ...)."""
    n, c, *rest = channels_first.shape
    return channels_first.reshape(n, groups, c // groups, *rest)
