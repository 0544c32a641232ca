"""Convolution and its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import _core
from ..._core import Tensor
from ._resampling import pad

_ops = _core.ops
_Size = int | Sequence[int]


def _each(size: _Size, axes: int) -> tuple[int, ...]:
    """One number stands for all axes."""
    return (size,) * axes if isinstance(size, int) else tuple(size)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size | str = 0,
    dilation: _Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences (batch, channels, length), or of one without the batch; see `conv2d`."""
    return _convolve(_ops.conv1d, 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size | str = 0,
    dilation: _Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images (batch, channels, height, width), or of one without the batch.

    ``padding="same"`` keeps height and width (stride 1), ``"valid"`` pads nothing.
    """
    return _convolve(_ops.conv2d, 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size | str = 0,
    dilation: _Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes (batch, channels, depth, height, width), or of one; see `conv2d`."""
    return _convolve(_ops.conv3d, 3, input, weight, bias, stride, padding, dilation, groups)


def _convolve(
    op: Callable[..., Tensor],
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _Size,
    padding: _Size | str,
    dilation: _Size,
    groups: int,
) -> Tensor:
    if input.ndim == axes + 1:
        one = input.unsqueeze(0)
        return _convolve(op, axes, one, weight, bias, stride, padding, dilation, groups).squeeze(0)
    if isinstance(padding, str):
        input, padding = _padded_by_name(f"conv{axes}d", axes, input, weight, padding, stride, dilation)
    return op(input, weight, bias, _each(stride, axes), _each(padding, axes), _each(dilation, axes), groups)


def _padded_by_name(
    name: str, axes: int, input: Tensor, weight: Tensor, padding: str, stride: _Size, dilation: _Size
) -> tuple[Tensor, _Size]:
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(f"{name}: padding must be numbers, 'valid' or 'same'; found {padding!r}")
    if set(_each(stride, axes)) != {1}:
        raise ValueError(f"{name}: padding='same' needs stride 1; found {stride}")
    total = [d * (size - 1) for d, size in zip(_each(dilation, axes), weight.shape[2:], strict=True)]
    if all(t % 2 == 0 for t in total):
        return input, [t // 2 for t in total]
    return pad(input, [n for t in reversed(total) for n in (t // 2, t - t // 2)]), 0


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size = 0,
    output_padding: _Size = 0,
    groups: int = 1,
    dilation: _Size = 1,
) -> Tensor:
    """The adjoint of `conv1d`; see `conv_transpose2d`."""
    return _spread(_ops.conv_transpose1d, 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size = 0,
    output_padding: _Size = 0,
    groups: int = 1,
    dilation: _Size = 1,
) -> Tensor:
    """The adjoint of `conv2d`: each pixel goes, times the weight, to all places of its window.

    weight: (channels, out channels / groups, height, width). padding cuts the result at each end, output_padding
    makes its end longer; it is less than stride or dilation.
    """
    return _spread(_ops.conv_transpose2d, 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = 1,
    padding: _Size = 0,
    output_padding: _Size = 0,
    groups: int = 1,
    dilation: _Size = 1,
) -> Tensor:
    """The adjoint of `conv3d`; see `conv_transpose2d`."""
    return _spread(_ops.conv_transpose3d, 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _spread(
    op: Callable[..., Tensor],
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _Size,
    padding: _Size,
    output_padding: _Size,
    groups: int,
    dilation: _Size,
) -> Tensor:
    lists = [_each(size, axes) for size in (stride, padding, output_padding, dilation)]
    if input.ndim == axes + 1:
        return op(input.unsqueeze(0), weight, bias, *lists, groups).squeeze(0)
    return op(input, weight, bias, *lists, groups)
