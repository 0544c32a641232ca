"""Losses."""

from __future__ import annotations

import math
import warnings

from ... import _core
from ..._core import Tensor

_ops = _core.ops


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum'; found {reduction!r}")
    return loss if reduction == "none" else _ops.mean(loss) if reduction == "mean" else _ops.sum(loss)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared differences. Shapes that differ broadcast, with a warning: it is mostly a mistake."""
    if input.shape != target.shape:
        warnings.warn(
            f"mse_loss: input has shape {input.shape}, target {target.shape}; they are broadcast", stacklevel=2
        )
    difference = input - target
    return _reduced(difference * difference, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log likelihood of the target under softmax of the input.

    The classes are axis 1 of the input, or axis 0 of an input with one axis. The target holds class indices and has
    the input's shape without that axis, or it holds probabilities and has the input's shape.
    """
    axis = 0 if input.ndim == 1 else 1
    if input.ndim and target.shape == input.shape and target.dtype.is_floating_point:
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis)
    wanted = input.shape[:axis] + input.shape[axis + 1 :]
    if input.ndim == 0 or target.shape != wanted:
        raise _core.InvalidArgumentError(
            f"cross_entropy: for input {input.shape} the target must be class indices of shape {wanted}; found "
            f"{target.dtype!r} of shape {target.shape}"
        )
    if input.ndim != 2:
        order = [i for i in range(input.ndim) if i != axis] + [axis]
        input = input.permute(order).reshape(math.prod(wanted), input.shape[axis])
    loss = _ops.cross_entropy(
        input, target.reshape(math.prod(wanted)), weight, reduction, ignore_index, label_smoothing
    )
    return loss.reshape(wanted) if reduction == "none" else loss


def _cross_entropy_of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float, axis: int
) -> Tensor:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    if weight is not None:
        target = target * weight.reshape(*[-1 if i == axis else 1 for i in range(input.ndim)])
    loss = -_ops.sum(target * _ops.log_softmax(input, axis), axis)
    return _reduced(loss, reduction)
