"""Softmax and normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import _autograd, _core
from ..._core import Tensor

_ops = _core.ops
_Size = int | Sequence[int]
_EPSILONS = {_core.float16: 2.0**-10, _core.bfloat16: 2.0**-7, _core.float32: 2.0**-23, _core.float64: 2.0**-52}


def softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.softmax(input if dtype is None else input.to(dtype=dtype), dim)


def log_softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.log_softmax(input if dtype is None else input.to(dtype=dtype), dim)


def _last_axes(op: str, input: Tensor, normalized_shape: _Size) -> int:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise _core.InvalidArgumentError(f"{op}: the last axes of input must be {shape}; found input {input.shape}")
    return len(shape)


def layer_norm(
    input: Tensor,
    normalized_shape: _Size,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over the last axes, which have this shape, times weight, plus bias."""
    return _ops.layer_norm(input, weight, bias, _last_axes("layer_norm", input, normalized_shape), eps)


def rms_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean of squares + eps) over the last axes, which have this shape, times weight.

    Without `eps`: the distance from 1 to the next number of the input's dtype.
    """
    axes = _last_axes("rms_norm", input, normalized_shape)
    return _ops.rms_norm(input, weight, axes, _EPSILONS[input.dtype] if eps is None else eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over each of the groups of channels (axis 1), times weight, plus bias."""
    return _ops.group_norm(input, weight, bias, num_groups, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) for each channel (axis 1), times weight, plus bias.

    While training with the batch's mean and variance, towards which the running ones move by `momentum` (the variance
    with correction 1); else with the running ones.
    """
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: running_mean and running_var are needed when not training")
        mean, var = (_accumulators(statistic, input) for statistic in (running_mean, running_var))
        return _ops.batch_norm(input, weight, bias, mean, var, eps)[0]
    items = _items("batch_norm", input, "value for each channel")
    y, mean, var = _ops.batch_norm(input, weight, bias, None, None, eps)
    with _autograd.no_grad():
        _move(running_mean, mean, momentum)
        _move(running_var, None if running_var is None else var * (items / (items - 1)), momentum)
    return y


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) for each channel (axis 1) of each instance, times weight, plus bias.

    With `use_input_stats` running statistics move, by `momentum`, towards the average of those of the instances;
    without, they are what is used.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _items("instance_norm", input[:1, :1], "element for each channel of an instance")
    if running_mean is not None or running_var is not None:
        places = list(range(2, input.ndim))
        with _autograd.no_grad():
            _move(running_mean, _ops.mean(_ops.mean(input, places), 0), momentum)
            _move(running_var, _ops.mean(_ops.var(input, places), 0), momentum)
    return _ops.instance_norm(input, weight, bias, eps)


def _accumulators(statistic: Tensor, input: Tensor) -> Tensor:
    return statistic.to(dtype=_core.float64 if input.dtype == _core.float64 else _core.float32)


def _items(op: str, input: Tensor, what: str) -> int:
    """How many elements a channel has; training on one would give zeros."""
    if input.ndim < 2:
        raise _core.InvalidArgumentError(f"{op}: input must be (batch, channels, ...); found shape {input.shape}")
    items = input.shape[0] * math.prod(input.shape[2:])
    if items == 1:
        raise ValueError(f"{op}: training needs more than one {what}; found input {input.shape}")
    return items


def _move(running: Tensor | None, statistic: Tensor | None, momentum: float) -> None:
    """running += momentum * (statistic - running)."""
    if running is not None and statistic is not None:
        _ops.lerp(running, statistic.to(dtype=running.dtype), momentum, out=running)
