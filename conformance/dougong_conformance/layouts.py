"""Where the elements of a tensor lie in a block of bytes: the layouts in which a kernel meets its tensors.

A `Placement` is the host's picture of one block: `view` reads and writes the tensor in it, `gaps` marks the bytes
between its elements, which nobody may touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# What a kernel without DG_KERNEL_STRIDED must take, and what only one with it is given.
DENSE_LAYOUTS = ("dense", "offset", "misaligned")
STRIDED_LAYOUTS = ("transposed", "sliced", "reversed", "broadcast")
LAYOUTS = DENSE_LAYOUTS + STRIDED_LAYOUTS

# The stride of an axis of size 1 means nothing, so it is made to hurt whoever uses it.
MEANINGLESS = 7919


@dataclass(frozen=True)
class Placement:
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    dtype: np.dtype
    offset: int  # bytes from the start of the block to element (0, 0, ...)
    size: int  # bytes of the block

    def view(self, block: np.ndarray) -> np.ndarray:
        """The tensor in a block of bytes, sharing its memory."""
        return np.ndarray(self.shape, self.dtype, block, self.offset, self._byte_strides())

    def gaps(self) -> np.ndarray:
        """For each byte of the block: whether it belongs to no element."""
        mask = np.ones(self.size, bool)
        item = self.dtype.itemsize
        np.ndarray((*self.shape, item), bool, mask, self.offset, (*self._byte_strides(), 1))[...] = False
        return mask

    def _byte_strides(self) -> tuple[int, ...]:
        return tuple(stride * self.dtype.itemsize for stride in self.strides)


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def place(layout: str, shape: Sequence[int], dtype: np.dtype, alignment: int = 0, order: int = 0) -> Placement:
    """A tensor in a layout. ``order`` is its place among the tensors of the call: no two are misaligned alike.

    ``alignment`` is the kernel's, in bytes; element (0, 0, ...) lies at a multiple of it and of the element size.
    """
    dtype = np.dtype(dtype)
    lead = {"offset": 3, "misaligned": 2 * order + 1}.get(layout, 0) * dtype.itemsize
    return _placed(tuple(shape), _strides(layout, tuple(shape)), dtype, alignment, lead)


def place_input(layout: str, array: np.ndarray, alignment: int = 0, order: int = 0) -> Placement:
    """The same for an input with these values: in the layout ``broadcast`` its constant axes get stride 0."""
    if layout != "broadcast":
        return place(layout, array.shape, array.dtype, alignment, order)
    return _placed(array.shape, _broadcast_strides(array), array.dtype, alignment, 0)


def place_broadcast(shape: Sequence[int], placement: Placement) -> Placement:
    """A placement seen with the output's shape: the axes that it lacks, or has with size 1, get stride 0."""
    missing = len(shape) - len(placement.shape)
    own = (1,) * missing + placement.shape
    strides = (0,) * missing + placement.strides
    strides = tuple(
        0 if size == 1 != wanted else stride for size, stride, wanted in zip(own, strides, shape, strict=True)
    )
    return Placement(tuple(shape), strides, placement.dtype, placement.offset, placement.size)


def repeat_along_an_axis(array: np.ndarray) -> np.ndarray:
    """The array made constant along its first axis longer than 1, so that a stride of 0 can describe it."""
    for axis, size in enumerate(array.shape):
        if size > 1:
            first = np.take(array, [0], axis=axis)
            return np.ascontiguousarray(np.broadcast_to(first, array.shape))
    return array


def _strides(layout: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if layout == "transposed":
        return tuple(reversed(dense_strides(shape[::-1])))
    if layout == "sliced" and shape:
        wide = (*shape[:-1], 2 * shape[-1] + 1)
        return _meaningless(shape, (*dense_strides(wide)[:-1], 2))
    if layout == "reversed":
        return _meaningless(shape, tuple(-stride for stride in dense_strides(shape)))
    return dense_strides(shape)


def _meaningless(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(MEANINGLESS if size == 1 else stride for size, stride in zip(shape, strides, strict=True))


def _broadcast_strides(array: np.ndarray) -> tuple[int, ...]:
    """Stride 0 where the values do not change along an axis, dense strides for the rest."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.dtype.itemsize)
    constant = [size > 1 and bool((raw == np.take(raw, [0], axis=i)).all()) for i, size in enumerate(array.shape)]
    kept = dense_strides([1 if c else size for c, size in zip(constant, array.shape, strict=True)])
    return tuple(0 if c else stride for c, stride in zip(constant, kept, strict=True))


def _placed(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, alignment: int, lead: int) -> Placement:
    reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)] if 0 not in shape else []
    below = sum(min(r, 0) for r in reach)
    above = sum(max(r, 0) for r in reach)
    unit = max(alignment, dtype.itemsize)
    offset = -(-(lead - below * dtype.itemsize) // unit) * unit
    elements = above + 1 if 0 not in shape else 0
    return Placement(shape, strides, dtype, offset, offset + elements * dtype.itemsize)
