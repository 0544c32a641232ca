"""Normalisation over groups of channels."""

from ._channels import scaled, standardised


def group_norm(x, weight, bias, *, groups, epsilon):
    size = x.shape[1] // groups
    parts = x.reshape(x.shape[0], groups, size, *x.shape[2:])
    normal = standardised(parts, tuple(range(2, parts.ndim)), epsilon)
    return scaled(normal.reshape(x.shape), weight, bias)
