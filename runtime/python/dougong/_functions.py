"""Functions over tensors that are made of ops: no kernel of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Tensor

_ops = _core.ops


def accepts_dim(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets `axis` and `keepdim` be called ``dim`` and ``keepdims`` too."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for alias, name in (("dim", "axis"), ("keepdims", "keepdim")):
            if alias in kwargs:
                if name in kwargs:
                    raise TypeError(f"{function.__name__}: {name} is given twice, as {alias} too")
                kwargs[name] = kwargs.pop(alias)
        return function(*args, **kwargs)

    return wrapper


@accepts_dim
def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape, joined along a new axis."""
    return _ops.stack(tensors, axis)


@accepts_dim
def split(x: Tensor, split_size: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of an axis: of one size, the last one smaller, or of the sizes given."""
    axis = _axis(x, axis)
    length = x.shape[axis]
    if isinstance(split_size, int):
        if split_size < 1:
            raise ValueError(f"split: the size must be positive; found {split_size}")
        sizes = [min(split_size, length - start) for start in range(0, max(length, 1), split_size)]
    else:
        sizes = list(split_size)
    if sum(sizes) != length:
        raise ValueError(f"split: sizes {sizes} do not add up to the {length} elements of axis {axis}")
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(narrow(x, axis, start, size) for start, size in zip(starts, sizes, strict=True))


@accepts_dim
def chunk(x: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of an axis, all of one size but the last."""
    return split(x, max(1, -(-x.shape[_axis(x, axis)] // chunks)), axis)


@accepts_dim
def narrow(x: Tensor, axis: int, start: int, length: int) -> Tensor:
    """A view of elements start .. start + length - 1 of an axis."""
    return x[(slice(None),) * _axis(x, axis) + (slice(start, start + length),)]


def _axis(x: Tensor, axis: int) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise _core.OutOfRangeError(f"axis {axis} is out of range for a tensor of shape {x.shape}")
    return axis % x.ndim


def transpose(x: Tensor, axis0: int, axis1: int) -> Tensor:
    return x.transpose(axis0, axis1)


def permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.permute(axes)


permute_dims = permute


def reshape(x: Tensor, shape: Any) -> Tensor:
    return x.reshape(shape)


@accepts_dim
def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return x.squeeze() if axis is None else x.squeeze(axis)


@accepts_dim
def unsqueeze(x: Tensor, axis: int) -> Tensor:
    return x.unsqueeze(axis)


def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.expand(shape)


@accepts_dim
def std(x: Tensor, axis: Any = None, keepdim: bool = False, correction: float = 1.0) -> Tensor:
    """The square root of the variance."""
    return _ops.var(x, axis, keepdim, correction).sqrt()


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are near each other, decided by NumPy on the host."""
    import numpy as np

    return bool(np.allclose(a.detach().numpy(), b.detach().numpy(), rtol, atol, equal_nan))


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether shape and all elements are the same."""
    return a.shape == b.shape and a.dtype == b.dtype and bool((_ops.eq(a, b)).to(_core.int64).sum() == a.numel())
