"""Functions that move, choose and place elements: ops, under the arguments that NumPy and PyTorch gave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core, _creation
from ._core import Tensor
from ._functions import accepts_dim

_ops = _core.ops


@accepts_dim
def argsort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Where the elements of the sorted tensor were; equal ones keep their order."""
    return _ops.argsort(x.detach(), axis, descending)


@accepts_dim
def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k greatest, or least, elements of an axis in order, and where they were; of equal ones the first."""
    if x.ndim == 0:
        return _ops.sort(x, axis, largest)
    if not 0 <= k <= x.shape[axis]:
        raise _core.InvalidArgumentError(f"topk: axis {axis} has {x.shape[axis]} elements; wanted {k}")
    return _ops.topk(x, k, axis, largest)


@accepts_dim
def roll(x: Tensor, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """Elements moved along axes; what leaves at the end comes in at the front. Without an axis: of the flat tensor."""
    if axis is None:
        if not isinstance(shift, int):
            raise _core.InvalidArgumentError("roll: without an axis the shift is one number")
        return _ops.roll(x.reshape(-1), [shift], [0]).reshape(x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if len(shifts) != len(axes):
        raise _core.InvalidArgumentError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    return _ops.roll(x, shifts, axes)


@accepts_dim
def repeat(x: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Each element `repeats` times in a row, as in the array API. Without an axis: of the flat tensor."""
    return _ops.repeat(x.reshape(-1), repeats, 0) if axis is None else _ops.repeat(x, repeats, axis)


def tile(x: Tensor, repetitions: Sequence[int]) -> Tensor:
    """The tensor side by side with itself, so often along each of the last axes."""
    counts = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    shape = (1,) * (len(counts) - x.ndim) + tuple(x.shape)
    pairs = list(zip(counts, shape, strict=True))
    apart = x.reshape(*(n for _, size in pairs for n in (1, size)))
    return apart.expand(*(n for pair in pairs for n in pair)).reshape(*(count * size for count, size in pairs))


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """0 above a diagonal of the last two axes: above the main one for 0, the next one to the right for 1."""
    return _ops.tril(x, diagonal)


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """0 below a diagonal of the last two axes."""
    return _ops.triu(x, diagonal)


def one_hot(index: Tensor, num_classes: int) -> Tensor:
    """A new last axis with 1 at the index and 0 elsewhere, int64; an index outside 0 to num_classes - 1 has no 1."""
    return _ops.one_hot(index, num_classes)


@accepts_dim
def index_select(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices of an axis that a vector of indices names."""
    return _ops.index_select(x, index, axis)


@accepts_dim
def index_add(x: Tensor, axis: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of x to whose slices along an axis those of the source are added; equal indices add up."""
    return _ops.index_add(x, index, source, axis, out=out)


def index_put(
    x: Tensor, indices: Sequence[Tensor], values: Any, accumulate: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """A copy of x with ``x[indices] = values``, or ``+=`` where `accumulate` holds: then equal places add up.

    The indices are integer tensors for the first axes of x, and broadcast; so do the values. A bool mask stands for
    the places where it holds.
    """
    index = _ops.stack(_broadcast(_without_masks(indices)), 0)
    shape = (*index.shape[1:], *x.shape[len(index) :])
    if not isinstance(values, Tensor):
        values = _creation.tensor(values, dtype=x.dtype, device=x.device)
    return _ops.index_put(x, index, values.to(dtype=x.dtype).expand(*shape), accumulate, out=out)


def _without_masks(indices: Sequence[Tensor]) -> list[Tensor]:
    return [part for one in indices for part in (_axes(nonzero(one)) if one.dtype == _core.bool_ else (one,))]


def _axes(places: Tensor) -> tuple[Tensor, ...]:
    return tuple(places[:, i] for i in range(places.shape[1]))


def _broadcast(tensors: Sequence[Tensor]) -> list[Tensor]:
    ndim = max(t.ndim for t in tensors)
    shapes = [(1,) * (ndim - t.ndim) + tuple(t.shape) for t in tensors]
    shape = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*shapes, strict=True)]
    return [t.expand(*shape) for t in tensors]


def nonzero(x: Tensor) -> Tensor:
    """The indices of the elements that are not zero: int64 (how many, axes of x). Waits for the device to count."""
    x = x.detach()
    return _ops.nonzero(x, int(_ops.count_nonzero(x).item()))


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector; x and the mask broadcast. Waits for the device to count."""
    x, mask = _broadcast([x, mask])
    return _ops.masked_select(x, mask, int(_ops.count_nonzero(mask).item()))


def searchsorted(sequence: Tensor, values: Any, right: bool = False) -> Tensor:
    """Where values belong in a sorted sequence, int64: before equal elements or, with `right`, behind them.

    The sequence is a vector, or has the axes of the values but for the size of the last: then each row is searched for
    the values of its own row.
    """
    if not isinstance(values, Tensor):
        values = _creation.tensor(values, dtype=sequence.dtype, device=sequence.device)
    return _ops.searchsorted(sequence.detach(), values.detach(), right)


@accepts_dim
def flip(x: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """A view with the elements along the axes in reverse order; without axes, along all of them."""
    return _core.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A view of a diagonal of two axes, which becomes the last axis."""
    return _core.diagonal(x, offset, axis1, axis2)


def unfold(x: Tensor, axis: int, size: int, step: int = 1) -> Tensor:
    """A view of the windows of `size` elements along an axis, `step` apart; the elements of one are the last axis."""
    return _core.unfold(x, axis, size, step)
