"""a to the power of b."""

import builtins

import numpy as np


def pow(a, b):
    if np.asarray(a).dtype.kind in "iu":
        return integer_power(a, b)
    with np.errstate(all="ignore"):
        return np.power(a, b)


def integer_power(a, b):
    """Modulo 2**n; a negative exponent gives the truncated reciprocal, 0 for base 0."""
    a, b = np.broadcast_arrays(a, b)
    bits = a.dtype.itemsize * 8
    values = [one_power(int(x), int(y), bits, a.dtype) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    return np.array(values, a.dtype).reshape(a.shape)


def one_power(x, y, bits, dtype):
    if y < 0:
        return x if x in (1, -1) and y % 2 else abs(x) if x in (1, -1) else 0
    value = np.uint64(builtins.pow(x, y, 1 << bits))
    return value.astype(f"u{bits // 8}").astype(dtype)
