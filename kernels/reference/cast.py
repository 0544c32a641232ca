"""Conversion between dtypes."""

from ._cast import convert


def cast(x, *, dtype):
    return convert(x, dtype)
