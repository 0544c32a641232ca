"""Convolution, pooling and padding."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core
from ..._core import Tensor

_ops = _core.ops
_Size = int | Sequence[int]


def _pair(size: _Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


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
    if input.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    if isinstance(padding, str):
        input, padding = _padded_by_name(input, weight, padding, stride, dilation)
    return _ops.conv2d(input, weight, bias, _pair(stride), _pair(padding), _pair(dilation), groups)


def _padded_by_name(
    input: Tensor, weight: Tensor, padding: str, stride: _Size, dilation: _Size
) -> tuple[Tensor, _Size]:
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(f"conv2d: padding must be numbers, 'valid' or 'same'; found {padding!r}")
    if _pair(stride) != (1, 1):
        raise ValueError(f"conv2d: padding='same' needs stride 1; found {stride}")
    total = [d * (size - 1) for d, size in zip(_pair(dilation), weight.shape[-2:], strict=True)]
    if all(t % 2 == 0 for t in total):
        return input, [t // 2 for t in total]
    height, width = total
    return pad(input, [width // 2, width - width // 2, height // 2, height - height // 2]), 0


def max_pool2d(
    input: Tensor,
    kernel_size: _Size,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
) -> Tensor:
    """The greatest value in each window; windows lie side by side unless a stride is given."""
    if input.ndim == 3:
        return max_pool2d(input.unsqueeze(0), kernel_size, stride, padding, dilation).squeeze(0)
    stride = kernel_size if stride is None else stride
    return _ops.max_pool2d(input, _pair(kernel_size), _pair(stride), _pair(padding), _pair(dilation))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Values put around the last axes: `pad` is (before, after) of the last axis, then of the one before it, ..."""
    if mode != "constant":
        raise _core.UnimplementedError(f"pad: mode {mode!r} is not there yet; 'constant' is")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise _core.InvalidArgumentError(
            f"pad takes two numbers an axis, for at most {input.ndim} axes; found {len(pad)} for shape {input.shape}"
        )
    by_axis = [0] * (2 * input.ndim - len(pad))
    for last in range(len(pad) - 2, -1, -2):
        by_axis += pad[last : last + 2]
    return _ops.pad(input, by_axis, 0 if value is None else value)
