"""Pools: the greatest or the mean of windows, and of the pieces that an image is cut into.

Inputs are (batch, channels, ...), or without the batch. Windows lie side by side unless a stride is given; with
ceil_mode the last ones may reach beyond the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor

_ops = _core.ops
_Size = int | Sequence[int]
_Pieces = int | Sequence[int | None] | None


def _pool(op: Callable[..., Tensor], axes: int, input: Tensor, sizes: list[_Size], *rest: Any) -> Tensor:
    lists = [(size,) * axes if isinstance(size, int) else tuple(size) for size in sizes]
    if input.ndim == axes + 1:
        return op(input.unsqueeze(0), *lists, *rest).squeeze(0)
    return op(input, *lists, *rest)


def max_pool1d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest value in each window of sequences; padding never is."""
    sizes = [kernel_size, kernel_size if stride is None else stride, padding, dilation]
    return _pool(_ops.max_pool1d, 1, input, sizes, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest value in each window of images; padding never is."""
    sizes = [kernel_size, kernel_size if stride is None else stride, padding, dilation]
    return _pool(_ops.max_pool2d, 2, input, sizes, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest value in each window of volumes; padding never is."""
    sizes = [kernel_size, kernel_size if stride is None else stride, padding, dilation]
    return _pool(_ops.max_pool3d, 3, input, sizes, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of sequences, with zeros for padding, which counts unless it is told not to."""
    sizes = [kernel_size, kernel_size if stride is None else stride, padding]
    return _pool(_ops.avg_pool1d, 1, input, sizes, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images, with zeros for padding, which counts unless it is told not to.

    divisor_override: what sums are divided by instead of the number of elements.
    """
    sizes = [kernel_size, kernel_size if stride is None else stride, padding]
    return _pool(_ops.avg_pool2d, 2, input, sizes, ceil_mode, count_include_pad, _divisor(divisor_override))


def avg_pool3d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of volumes; see `avg_pool2d`."""
    sizes = [kernel_size, kernel_size if stride is None else stride, padding]
    return _pool(_ops.avg_pool3d, 3, input, sizes, ceil_mode, count_include_pad, _divisor(divisor_override))


def _divisor(value: int | None) -> int:
    if value is not None and value <= 0:
        raise ValueError(f"divisor_override must be positive; found {value}")
    return value or 0


def adaptive_avg_pool1d(input: Tensor, output_size: _Pieces) -> Tensor:
    """The means of `output_size` pieces of sequences, whatever their length."""
    return _pool(_ops.adaptive_avg_pool1d, 1, input, [_pieces(input, output_size, 1)])


def adaptive_avg_pool2d(input: Tensor, output_size: _Pieces) -> Tensor:
    """The means of `output_size` pieces of images, whatever their size. None leaves an axis as it is."""
    return _pool(_ops.adaptive_avg_pool2d, 2, input, [_pieces(input, output_size, 2)])


def adaptive_max_pool1d(input: Tensor, output_size: _Pieces) -> Tensor:
    """The greatest values of `output_size` pieces of sequences, whatever their length."""
    return _pool(_ops.adaptive_max_pool1d, 1, input, [_pieces(input, output_size, 1)])


def adaptive_max_pool2d(input: Tensor, output_size: _Pieces) -> Tensor:
    """The greatest values of `output_size` pieces of images, whatever their size. None leaves an axis as it is."""
    return _pool(_ops.adaptive_max_pool2d, 2, input, [_pieces(input, output_size, 2)])


def _pieces(input: Tensor, output_size: _Pieces, axes: int) -> list[int]:
    counts = [output_size] * axes if output_size is None or isinstance(output_size, int) else output_size
    if len(counts) != axes:
        raise ValueError(f"output_size must be one number, or one for each of {axes} axes; found {output_size}")
    return [size if count is None else count for count, size in zip(counts, input.shape[-axes:], strict=True)]
