"""Activations."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor

_ops = _core.ops

elu = _ops.elu
celu = _ops.celu
selu = _ops.selu
silu = _ops.silu
mish = _ops.mish
hardsigmoid = _ops.hardsigmoid
hardswish = _ops.hardswish
logsigmoid = _ops.log_sigmoid
softsign = _ops.softsign


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return _ops.leaky_relu(input, negative_slope)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return _ops.softplus(input, beta, threshold)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} is greater than max_val {max_val}")
    return _ops.hardtanh(input, min_val, max_val)


def relu6(input: Tensor) -> Tensor:
    """relu, but not above 6."""
    return _ops.hardtanh(input, 0.0, 6.0)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """The input where it is above the threshold, else `value`."""
    return _ops.masked_fill(input, _ops.le(input, threshold), value)


def tanhshrink(input: Tensor) -> Tensor:
    return input - _ops.tanh(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input, but 0 from -lambd to lambd."""
    return _ops.masked_fill(input, _ops.le(_ops.abs(input), lambd), 0)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input moved towards 0 by lambd, and 0 where it is nearer than that."""
    if lambd < 0:
        raise ValueError(f"softshrink: lambd may not be negative; found {lambd}")
    moved = _ops.where(_ops.gt(input, 0), input - lambd, input + lambd)
    return _ops.masked_fill(moved, _ops.le(_ops.abs(input), lambd), 0)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second half."""
    if input.ndim == 0 or input.shape[dim] % 2:
        raise _core.InvalidArgumentError(f"glu halves axis {dim}, which must be even; found shape {input.shape}")
    axis, half = dim % input.ndim, input.shape[dim] // 2
    before = (slice(None),) * axis
    return input[(*before, slice(0, half))] * _ops.sigmoid(input[(*before, slice(half, None))])


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where it is positive, else times the weight: one number, or one for each channel (axis 1)."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.shape[0] != channels:
            raise _core.InvalidArgumentError(
                f"prelu: weight must be one number or one for each of {channels} channels; found shape {weight.shape}"
            )
        weight = weight.reshape(1, channels, *[1] * (input.ndim - 2))
    else:
        weight = weight.reshape(())
    return _ops.where(_ops.gt(input, 0), input, input * weight)


def softmin(input: Tensor, dim: int = -1) -> Tensor:
    return _ops.softmax(-input, dim)
