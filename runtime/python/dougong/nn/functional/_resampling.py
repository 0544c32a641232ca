"""Padding, interpolation, and the windows of images as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ... import _core, _creation
from ..._core import Tensor
from ._basic import one_hot
from ._pooling import adaptive_avg_pool1d, adaptive_avg_pool2d

_ops = _core.ops
_Size = int | Sequence[int]
_BORDERS = ("reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements put around the last axes: `pad` is (before, after) of the last axis, then of the one before it, ...

    mode: ``"constant"``, of `value` or 0; ``"reflect"``, mirrored without the border itself; ``"replicate"``, the
    border again; ``"circular"``, from the other end. A negative number cuts.
    """
    if mode not in ("constant", *_BORDERS):
        raise ValueError(f"pad: mode must be one of 'constant', 'reflect', 'replicate', 'circular'; found {mode!r}")
    if mode != "constant" and value is not None:
        raise ValueError(f"pad: value is for mode 'constant'; found {value} with mode {mode!r}")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise _core.InvalidArgumentError(
            f"pad takes two numbers an axis, for at most {input.ndim} axes; found {len(pad)} for shape {input.shape}"
        )
    by_axis = [0] * (2 * input.ndim - len(pad))
    for last in range(len(pad) - 2, -1, -2):
        by_axis += pad[last : last + 2]
    if mode != "constant":
        return _ops.border_pad(input, by_axis, mode)
    return _ops.pad(input, by_axis, 0 if value is None else value)


_MODES = {
    "nearest": ("nearest", (3, 4, 5)),
    "nearest-exact": ("nearest_exact", (3, 4, 5)),
    "linear": ("linear", (3,)),
    "bilinear": ("linear", (4,)),
    "trilinear": ("linear", (5,)),
    "bicubic": ("cubic", (4,)),
    "area": ("area", (3, 4)),
}


def interpolate(
    input: Tensor,
    size: _Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """`input` (batch, channels, ...) with other sizes of the last axes, sampled along one axis after the other.

    Either `size` or `scale_factor`, one number or one an axis. Elements are `scale_factor` apart as it was given;
    with recompute_scale_factor, by the ratio of the sizes. mode: ``"nearest"``, ``"nearest-exact"``, ``"area"`` (the
    mean), ``"linear"``, ``"bilinear"``, ``"trilinear"`` for one, two and three axes, ``"bicubic"``. align_corners: the
    corners of both images coincide.
    """
    word = _checked_mode(input, mode, align_corners, antialias)
    sizes, steps = _sizes_and_steps(input, size, scale_factor, bool(recompute_scale_factor))
    if word == "area":
        return (adaptive_avg_pool1d if input.ndim == 3 else adaptive_avg_pool2d)(input, sizes)
    half = input.dtype in (_core.float16, _core.bfloat16)  # two axes are one rounding
    result = input.to(_core.float32) if half else input
    for axis, (count, step) in enumerate(zip(sizes, steps, strict=True), 2):
        result = _ops.interpolate(result, axis, count, word, bool(align_corners), step)
    return result.to(input.dtype)


def _checked_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> str:
    if antialias:
        raise _core.UnimplementedError("interpolate: antialias is not there yet; make it smooth first")
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode must be one of {', '.join(_MODES)}; found {mode!r}")
    word, ndims = _MODES[mode]
    if input.ndim not in ndims:
        wanted = " or ".join(map(str, ndims))
        raise ValueError(
            f"interpolate: mode {mode!r} takes {wanted} axes, batch and channels first; found {input.ndim}"
        )
    if align_corners is not None and word not in ("linear", "cubic"):
        raise ValueError(f"interpolate: align_corners is for linear and cubic modes; found it with {mode!r}")
    return word


def _sizes_and_steps(
    input: Tensor, size: _Size | None, scale_factor: float | Sequence[float] | None, recompute: bool
) -> tuple[list[int], list[list[int]]]:
    axes = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    given = size if scale_factor is None else scale_factor
    each = [given] * axes if isinstance(given, int | float) else list(given)
    if len(each) != axes:
        raise ValueError(f"interpolate: size or scale_factor must be one number or {axes}; found {given}")
    if scale_factor is None:
        return each, [[0, 0]] * axes
    sizes = [math.floor(n * float(factor)) for n, factor in zip(input.shape[2:], each, strict=True)]
    steps = [1 / Fraction(factor).limit_denominator(1 << 20) for factor in each]
    return sizes, [[0, 0] if recompute else [step.numerator, step.denominator] for step in steps]


def unfold(input: Tensor, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1) -> Tensor:
    """The windows of images (batch, channels, height, width) as columns (batch, channels * window, places)."""
    (height, width), (down, right) = _pair(kernel_size), _pair(stride)
    (gap_h, gap_w), (top, left) = _pair(dilation), _pair(padding)
    x = pad(input, (left, left, top, top)) if top or left else input
    rows, columns = (
        (size - gap * (window - 1) - 1) // step + 1
        for size, gap, window, step in zip(x.shape[-2:], (gap_h, gap_w), (height, width), (down, right), strict=True)
    )
    parts = [
        x[..., top : top + (rows - 1) * down + 1 : down, left : left + (columns - 1) * right + 1 : right]
        for top in range(0, height * gap_h, gap_h)
        for left in range(0, width * gap_w, gap_w)
    ]
    lines = _ops.cat([part.unsqueeze(-3) for part in parts], x.ndim - 2)
    return lines.reshape(*x.shape[:-3], x.shape[-3] * height * width, rows * columns)


def fold(
    input: Tensor,
    output_size: _Size,
    kernel_size: _Size,
    dilation: _Size = 1,
    padding: _Size = 0,
    stride: _Size = 1,
) -> Tensor:
    """The adjoint of `unfold`: columns (batch, channels * window, places) added up in images of `output_size`."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    window, step, gap, border = (_pair(size) for size in (kernel_size, stride, dilation, padding))
    size, area = _pair(output_size), window[0] * window[1]
    sizes = list(zip(size, window, step, gap, border, strict=True))
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in sizes]
    rest = [(n + 2 * p - d * (k - 1) - 1) % s for n, k, s, d, p in sizes]
    if input.shape[1] % area or input.shape[2] != places[0] * places[1]:
        raise _core.InvalidArgumentError(
            f"fold: input must be (batch, a multiple of {area}, {places[0] * places[1]}); found {input.shape}"
        )
    channels = input.shape[1] // area
    each = one_hot(_creation.arange(area, device=input.device), area).to(input.dtype)
    one_each = each.reshape(1, area, 1, *window)
    weight = one_each.expand(channels, area, 1, *window).reshape(channels * area, 1, *window)
    columns = input.reshape(input.shape[0], input.shape[1], *places)
    return _ops.conv_transpose2d(columns, weight, None, step, border, rest, gap, channels)


def _pair(size: _Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)
