"""1 - erf(x), to full precision where that is small."""

from .erf import complement


def erfc(x):
    return complement(x)
