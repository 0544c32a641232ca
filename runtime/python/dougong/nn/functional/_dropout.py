"""Dropout of channels, and for self-normalising networks."""

from __future__ import annotations

from ... import _core, _random
from ..._core import Tensor
from ._basic import checked_probability

_ops = _core.ops
_SELU_LOW = -1.7580993408473766  # what SELU tends to on the left


def _dropped(input: Tensor, shape: tuple[int, ...], p: float, generator: _random.Generator | None) -> Tensor:
    draw = _random.draw(_ops.uniform, shape, _core.float32, input.device, generator)
    return _ops.lt(draw, p)


def channel_dropout(
    input: Tensor, p: float, training: bool, window: int, generator: _random.Generator | None = None
) -> Tensor:
    """Zeroes whole channels, each the last `window` axes, with probability p; scales the others by 1 / (1 - p)."""
    checked_probability(p)
    if not training or p == 0:
        return input
    shape = input.shape[: input.ndim - window] + (1,) * window
    kept = _ops.masked_fill(input, _dropped(input, shape, p, generator), 0)
    return kept if p == 1 else kept * (1 / (1 - p))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    return channel_dropout(input, p, training, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    return channel_dropout(input, p, training, 2)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    return channel_dropout(input, p, training, 3)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, generator: _random.Generator | None = None
) -> Tensor:
    """Sets elements to SELU's least value with probability p, then restores mean and variance."""
    checked_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    scale = ((1 - p) * (1 + p * _SELU_LOW**2)) ** -0.5
    kept = _ops.masked_fill(input, _dropped(input, input.shape, p, generator), _SELU_LOW)
    return kept * scale - scale * p * _SELU_LOW
