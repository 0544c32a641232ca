"""Rows picked by index."""

from ._indices import checked


def embedding(weight, index):
    return weight[checked(index, weight.shape[0])]
