"""Helpers for training loops."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .. import _core
from .._autograd import no_grad
from .._core import Tensor
from . import parametrize
from ._parametrizations import spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrize",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales all gradients so that the norm of them together is at most `max_norm`; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return _core.ops.full((), 0.0, _core.float32)
    total = get_total_norm(gradients, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise _core.InvalidArgumentError(f"the norm of the gradients is {total.item()}: they cannot be clipped")
    factor = _core.ops.minimum(max_norm / (total + 1e-6), 1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(device=gradient.device, dtype=gradient.dtype))
    return total


def _norm(x: Tensor, norm_type: float) -> Tensor:
    """In float32 at least: the squares of float16 numbers are soon past the largest."""
    if x.dtype in (_core.float16, _core.bfloat16):
        x = x.to(dtype=_core.float32)
    return (x * x).sum().sqrt() if norm_type == 2 else _core.ops.norm(x, norm_type)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements in one vector."""
    return _core.ops.cat([parameter.reshape(-1) for parameter in parameters], 0)


def vector_to_parameters(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    """Lets the parameters have the elements of the vector, in order: the inverse of :func:`parameters_to_vector`."""
    parameters = list(parameters)
    wanted = sum(parameter.numel() for parameter in parameters)
    if vector.ndim != 1 or vector.shape[0] != wanted:
        raise _core.InvalidArgumentError(
            f"vector_to_parameters: the parameters have {wanted} elements; found a vector of shape {vector.shape}"
        )
    begin = 0
    with no_grad():
        for parameter in parameters:
            end = begin + parameter.numel()
            parameter.copy_(vector.detach()[begin:end].reshape(parameter.shape))
            begin = end


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Brings every element of every gradient to between -clip_value and clip_value."""
    if not clip_value >= 0:
        raise ValueError(f"clip_value may not be negative; found {clip_value}")
    for parameter in [parameters] if isinstance(parameters, Tensor) else parameters:
        if parameter.grad is not None:
            parameter.grad.clamp_(-clip_value, clip_value)


def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of all tensors together."""
    tensors = list(tensors)
    if not tensors:
        return _core.ops.full((), 0.0, _core.float32)
    norms = [_norm(tensor, norm_type).to(tensors[0].device) for tensor in tensors]
    return _norm(_core.ops.cat([norm.reshape(1) for norm in norms], 0), norm_type)
