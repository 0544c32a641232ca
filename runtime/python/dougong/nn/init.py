"""Values to begin with. Each function fills the tensor in place, without a history, and returns it."""

from __future__ import annotations

import math

from .. import _creation
from .._autograd import no_grad
from .._core import Tensor
from .._random import Generator

_GAINS = {"linear": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a nonlinearity shrinks what passes through it; `param` is the slope of leaky_relu."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"no gain is known for {nonlinearity!r}; known: leaky_relu, {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


def fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.ndim < 2:
        raise ValueError(f"fan in and fan out need at least two axes; found shape {tensor.shape}")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in [a, b)."""
    draw = _creation.rand(tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=generator)
    return tensor.copy_(draw * (b - a) + a)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    draw = _creation.randn(tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=generator)
    return tensor.copy_(draw * std + mean)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out'; found {mode!r}")
    fan = fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform within gain * sqrt(3 / fan) (He et al., 2015)."""
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    if tensor.numel() == 0:
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)
