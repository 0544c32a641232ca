"""Losses. `reduction` is "mean", "sum" or "none" for one number, or as many as there are losses."""

from __future__ import annotations

import math
import warnings

from ... import _core
from ..._core import Tensor
from ._basic import broadcast_shape

_ops = _core.ops


def _checked(reduction: str, allowed: tuple[str, ...] = ("none", "mean", "sum")) -> str:
    if reduction not in allowed:
        names = ", ".join(map(repr, allowed[:-1]))
        raise ValueError(f"reduction must be {names} or {allowed[-1]!r}; found {reduction!r}")
    return reduction


def _alike(op: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Shapes that differ broadcast, with a warning: it is mostly a mistake."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(f"{op}: input has shape {input.shape}, target {target.shape}; they are broadcast", stacklevel=3)
    return _broadcast(input, target)


def _broadcast(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    shape = broadcast_shape(a.shape, b.shape)
    return a.expand(*shape), b.expand(*shape)


def _same(op: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(f"{op}: target must have the shape of input, {input.shape}; found {target.shape}")


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared differences. Shapes that differ broadcast, with a warning: it is mostly a mistake."""
    return _ops.mse_loss(*_alike("mse_loss", input, target), _checked(reduction))


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute differences. Shapes that differ broadcast, with a warning."""
    return _ops.l1_loss(*_alike("l1_loss", input, target), _checked(reduction))


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d * d / 2 for differences d up to delta, delta * (|d| - delta / 2) beyond it."""
    return _ops.huber_loss(*_alike("huber_loss", input, target), delta, _checked(reduction))


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d * d / (2 beta) for differences d below beta, |d| - beta / 2 from there on; l1_loss for beta 0."""
    return _ops.smooth_l1_loss(*_alike("smooth_l1_loss", input, target), beta, _checked(reduction))


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), where input holds probabilities; times weight."""
    _same("binary_cross_entropy", input, target)
    weight = None if weight is None else weight.expand(*input.shape)
    return _ops.binary_cross_entropy(input, target, weight, _checked(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow; pos_weight multiplies the part of the target."""
    _same("binary_cross_entropy_with_logits", input, target)
    weights = [None if w is None else w.expand(*input.shape) for w in (weight, pos_weight)]
    return _ops.binary_cross_entropy_with_logits(input, target, *weights, _checked(reduction))


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input), where input holds logarithms of probabilities, and target too with log_target.

    ``reduction="batchmean"``, the sum divided by the first axis, is what the divergence is by its definition.
    """
    if input.shape != target.shape:
        input, target = _broadcast(input, target)
    return _ops.kl_div(input, target, log_target, _checked(reduction, ("none", "mean", "sum", "batchmean")))


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
        return _ops.cross_entropy_probabilities(input, target, weight, axis, _checked(reduction), label_smoothing)
    rows, classes = _rows("cross_entropy", input, target)
    loss = _ops.cross_entropy(rows, classes, weight, _checked(reduction), ignore_index, label_smoothing)
    return loss.reshape(target.shape) if reduction == "none" else loss


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-input of the target's class, where input holds logarithms of probabilities; shapes as in cross_entropy."""
    rows, classes = _rows("nll_loss", input, target)
    loss = _ops.nll_loss(rows, classes, weight, _checked(reduction), ignore_index)
    return loss.reshape(target.shape) if reduction == "none" else loss


def _rows(op: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The input as (rows, classes), and as many class indices."""
    axis = 0 if input.ndim == 1 else 1
    wanted = input.shape[:axis] + input.shape[axis + 1 :]
    if input.ndim == 0 or target.shape != wanted:
        raise _core.InvalidArgumentError(
            f"{op}: for input {input.shape} the target must be class indices of shape {wanted}; found "
            f"{target.dtype!r} of shape {target.shape}"
        )
    if input.ndim != 2:
        order = [i for i in range(input.ndim) if i != axis] + [axis]
        input = input.permute(order).reshape(math.prod(wanted), input.shape[axis])
    return input, target.reshape(math.prod(wanted))
