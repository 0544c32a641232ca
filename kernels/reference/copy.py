"""The same values."""


def copy(x):
    return x.copy()
