"""Functions that move, choose and place elements, made of ops: no kernel of their own, and gradients for free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core, _creation
from ._core import Tensor
from ._functions import narrow

_ops = _core.ops


def argsort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Where the elements of the sorted tensor were; equal ones keep their order."""
    return _ops.sort(x, axis, descending)[1]


def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k greatest, or least, elements of an axis in order, and where they were; of equal ones the first."""
    if x.ndim and not 0 <= k <= x.shape[axis]:
        raise _core.InvalidArgumentError(f"topk: axis {axis} has {x.shape[axis]} elements; wanted {k}")
    values, indices = _ops.sort(x, axis, largest)
    return (narrow(values, axis, 0, k), narrow(indices, axis, 0, k)) if x.ndim else (values, indices)


def roll(x: Tensor, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """Elements moved along axes; what leaves at the end comes in at the front. Without an axis: of the flat tensor."""
    if axis is None:
        return _rolled(x.reshape(-1), _single(shift), 0).reshape(x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if len(shifts) != len(axes):
        raise _core.InvalidArgumentError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for one_axis, one_shift in zip(axes, shifts, strict=True):
        x = _rolled(x, one_shift, one_axis)
    return x


def _single(shift: int | Sequence[int]) -> int:
    if not isinstance(shift, int):
        raise _core.InvalidArgumentError("roll: without an axis the shift is one number")
    return shift


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    size = x.shape[axis]
    start = -shift % size if size else 0
    return _ops.cat([narrow(x, axis, start, size - start), narrow(x, axis, 0, start)], axis)


def repeat(x: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Each element `repeats` times in a row, as in the array API. Without an axis: of the flat tensor."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    stretched = x.unsqueeze(axis + 1).expand(*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])
    return stretched.reshape(*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :])


def tile(x: Tensor, repetitions: Sequence[int]) -> Tensor:
    """The tensor side by side with itself, so often along each of the last axes."""
    counts = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    shape = (1,) * (len(counts) - x.ndim) + tuple(x.shape)
    pairs = list(zip(counts, shape, strict=True))
    apart = x.reshape(*(n for _, size in pairs for n in (1, size)))
    return apart.expand(*(n for pair in pairs for n in pair)).reshape(*(count * size for count, size in pairs))


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """0 above a diagonal of the last two axes: above the main one for 0, the next one to the right for 1."""
    return _ops.masked_fill(x, _ops.gt(_columns_less_rows(x, "tril"), diagonal), 0)


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """0 below a diagonal of the last two axes."""
    return _ops.masked_fill(x, _ops.lt(_columns_less_rows(x, "triu"), diagonal), 0)


def _columns_less_rows(x: Tensor, name: str) -> Tensor:
    if x.ndim < 2:
        raise _core.InvalidArgumentError(f"{name}: wanted two axes or more; found shape {x.shape}")
    rows, columns = (_creation.arange(n, device=x.device) for n in x.shape[-2:])
    return columns - rows.unsqueeze(1)


def one_hot(index: Tensor, num_classes: int) -> Tensor:
    """A new last axis with 1 at the index and 0 elsewhere, int64; an index outside 0 to num_classes - 1 has no 1."""
    places = _creation.arange(num_classes, device=index.device)
    return _ops.cast(_ops.eq(index.unsqueeze(-1), places), _core.int64)


def index_select(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices of an axis that a vector of indices names."""
    return _ops.gather(x, _along(x, axis, index, "index_select"), axis)


def index_add(x: Tensor, axis: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of x to whose slices along an axis those of the source are added; equal indices add up."""
    return _ops.scatter(x, _along(x, axis, index, "index_add"), source, axis, "add")


def _along(x: Tensor, axis: int, index: Tensor, name: str) -> Any:
    """The vector of indices on its axis, stretched to the shape of the others."""
    if index.ndim != 1 or x.ndim == 0:
        raise _core.InvalidArgumentError(f"{name}: wanted a vector of indices; found shapes {x.shape}, {index.shape}")
    axis %= x.ndim
    shape = [*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :]]
    return index.reshape(*(-1 if i == axis else 1 for i in range(x.ndim))).expand(*shape)
