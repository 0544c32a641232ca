"""dy added at the place that each window took its value from."""

import numpy as np


def max_pool2d_backward(dy, indices, *, shape):
    n, channels, height, width = shape
    dx = np.zeros((n, channels, height * width), dy.dtype)
    image = np.arange(n)[:, None, None, None], np.arange(channels)[None, :, None, None]
    np.add.at(dx, (*image, indices), dy)
    return dx.reshape(shape)


def magnitude(dy, indices, *, shape):
    terms = max_pool2d_backward(np.ones_like(dy, dtype=np.float64), indices, shape=shape)
    return max_pool2d_backward(np.abs(dy), indices, shape=shape), np.maximum(terms, 1)
