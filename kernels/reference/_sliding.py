"""Sliding windows over any number of last axes, and the pools that are made of them."""

import itertools

import numpy as np


def count(size, window, stride, padding, dilation=1, ceil_mode=False):
    """How many windows there are; rounded up, the last one still begins inside the axis or the padding before it."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    places = (-(-room // stride) if ceil_mode else room // stride) + 1
    return places - (ceil_mode and (places - 1) * stride >= size + padding)


def counts(shape, window, stride, padding, dilation=None, ceil_mode=False):
    dilation = dilation or [1] * len(window)
    sizes = shape[len(shape) - len(window) :]
    return [count(*axis, ceil_mode) for axis in zip(sizes, window, stride, padding, dilation, strict=True)]


def sliding(x, window, stride, padding, dilation, places, fill=0):
    """The windows over the last axes of x, as (..., *places, *window)."""
    axes = tuple(range(x.ndim - len(window), x.ndim))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, window, strict=True)]
    ends = [max((o - 1) * s + r - p - x.shape[a], 0)
            for o, s, r, p, a in zip(places, stride, reach, padding, axes, strict=True)]  # fmt: skip
    widths = [(0, 0)] * axes[0] + list(zip(padding, ends, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(np.pad(x, widths, constant_values=fill), reach, axis=axes)
    steps = [slice(0, (o - 1) * s + 1, s) for o, s in zip(places, stride, strict=True)]
    return view[(..., *steps, *[slice(None, None, d) for d in dilation])]


def max_pool(x, kernel_size, stride, padding, dilation, ceil_mode):
    """The first greatest value of each window, NaN before all, and its index among the last axes; padding never is."""
    n = len(kernel_size)
    places = counts(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    index = np.arange(np.prod(x.shape[-n:]), dtype=np.int64).reshape((1,) * (x.ndim - n) + x.shape[-n:])
    values = sliding(x, kernel_size, stride, padding, dilation, places)
    index = np.broadcast_to(sliding(index, kernel_size, stride, padding, dilation, places, fill=-1), values.shape)
    shape = (*values.shape[:-n], int(np.prod(kernel_size)))
    values, index = values.reshape(shape), index.reshape(shape)
    rank = np.where(index >= 0, values, -np.inf)
    greatest = np.where(
        np.isnan(rank).any(-1, keepdims=True), np.nan, np.nanmax(rank, -1, keepdims=True, initial=-np.inf)
    )
    best = ((rank == greatest) | np.isnan(rank) & np.isnan(greatest)) & (index >= 0)
    best = best.argmax(-1)[..., None]
    return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(index, best, -1)[..., 0]


def pool_areas(sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """What the sum of each window is divided by, as an array (*places)."""
    places = counts(sizes, kernel_size, stride, padding, None, ceil_mode)
    if divisor_override:
        return np.full(places, divisor_override)
    ones = (
        np.ones(sizes) if not count_include_pad else np.ones([n + 2 * p for n, p in zip(sizes, padding, strict=True)])
    )
    inner = [0] * len(sizes) if count_include_pad else padding
    windows = sliding(ones, kernel_size, stride, inner, [1] * len(sizes), places)
    return windows.sum(tuple(range(-len(sizes), 0)))


def avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    n = len(kernel_size)
    areas = pool_areas(x.shape[-n:], kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    windows = sliding(x, kernel_size, stride, padding, [1] * n, areas.shape)
    return windows.sum(tuple(range(-n, 0))) / areas.astype(x.dtype)


def segments(size, count):
    """Where the pieces of an adaptive pool begin and end: [(begin, end)]."""
    return [(o * size // count, -(-(o + 1) * size // count)) for o in range(count)]


def pieces(x, output_size):
    """Each piece of the last axes, with its place: ((o, ...), (slice, ...))."""
    n = len(output_size)
    cuts = [segments(size, count) for size, count in zip(x.shape[-n:], output_size, strict=True)]
    for place in itertools.product(*map(range, output_size)):
        yield place, tuple(slice(*cut[o]) for cut, o in zip(cuts, place, strict=True))


def adaptive_avg_pool(x, output_size):
    n = len(output_size)
    y = np.zeros((*x.shape[:-n], *output_size), x.dtype)
    for place, piece in pieces(x, output_size):
        part = x[(..., *piece)]
        size = x.dtype.type(np.prod(part.shape[-n:]))
        y[(..., *place)] = part.sum(tuple(range(-n, 0))) / size
    return y


def adaptive_max_pool(x, output_size):
    n = len(output_size)
    y = np.zeros((*x.shape[:-n], *output_size), x.dtype)
    indices = np.zeros(y.shape, np.int64)
    index = np.broadcast_to(np.arange(np.prod(x.shape[-n:]), dtype=np.int64).reshape(x.shape[-n:]), x.shape)
    for place, piece in pieces(x, output_size):
        values, places = (t[(..., *piece)].reshape(*t.shape[:-n], -1) for t in (x, index))
        best = np.where(np.isnan(values).any(-1), np.isnan(values).argmax(-1), values.argmax(-1))[..., None]
        y[(..., *place)] = np.take_along_axis(values, best, -1)[..., 0]
        indices[(..., *place)] = np.take_along_axis(places, best, -1)[..., 0]
    return y, indices
