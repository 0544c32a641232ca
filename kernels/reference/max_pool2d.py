"""The greatest value of each window."""

import numpy as np

from ._windows import windows


def max_pool2d(x, *, kernel_size, stride, padding, dilation):
    """The first greatest value, NaN before all, and its index h * width + w in the image; padding never wins."""
    height, width = x.shape[2:]
    place = np.arange(height * width, dtype=np.int64).reshape(1, 1, height, width)
    values = windows(x, kernel_size, stride, padding, dilation, fill=-np.inf)
    places = windows(place, kernel_size, stride, padding, dilation, fill=-1)
    rank = np.where(np.isnan(values), np.inf, values)  # a NaN among infinities: told apart below
    shape = (*values.shape[:4], kernel_size[0] * kernel_size[1])
    rank, values = rank.reshape(shape), values.reshape(shape)
    places = np.broadcast_to(places, (*x.shape[:2], *places.shape[2:])).reshape(shape)
    rank = np.where(places < 0, -np.inf, rank)
    best = np.where(np.isnan(values).any(-1), np.isnan(values).argmax(-1), first_best(rank, places))[..., None]
    return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(places, best, -1)[..., 0]


def first_best(rank, places):
    """The first greatest that is no padding: -inf inside the image beats -inf of the padding."""
    greatest = rank.max(-1, keepdims=True)
    return ((rank == greatest) & (places >= 0)).argmax(-1)
