"""Helpers for training loops."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .. import _core
from .._autograd import no_grad
from .._core import Tensor


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
    device = gradients[0].device
    norms = [_norm(gradient, norm_type).to(device) for gradient in gradients]
    joined = _core.ops.cat([norm.reshape(1) for norm in norms], 0)
    total = _norm(joined, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise _core.InvalidArgumentError(f"the norm of the gradients is {total.item()}: they cannot be clipped")
    factor = _core.ops.minimum(max_norm / (total + 1e-6), 1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(device=gradient.device, dtype=gradient.dtype))
    return total


def _norm(x: Tensor, norm_type: float) -> Tensor:
    if x.numel() == 0:
        return _core.ops.full((), 0.0, x.dtype, device=x.device)
    if norm_type == math.inf:
        return _core.ops.max(x.abs())
    if norm_type == 2:
        return (x * x).sum().sqrt()
    if not norm_type > 0:
        raise ValueError(f"norm_type must be positive or infinite; found {norm_type}")
    return (x.abs() ** norm_type).sum() ** (1.0 / norm_type)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements in one vector."""
    return _core.ops.cat([parameter.reshape(-1) for parameter in parameters], 0)
