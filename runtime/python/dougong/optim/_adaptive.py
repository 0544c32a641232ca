"""Adagrad, RMSprop and LAMB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _capture, _core
from .._core import Tensor
from ._adam import Adam
from ._optimizer import Optimizer, check_not_negative


class Adagrad(Optimizer):
    """Steps that grow shorter with the squares of all gradients so far (Duchi, Hazan and Singer, 2011)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps, "maximize": maximize}
        super().__init__(params, {**options, "initial_accumulator_value": initial_accumulator_value})

    def _check_options(self, options: Any) -> None:
        names = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        check_not_negative(**{name: options[name] for name in names})

    @_capture.by_numbers
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        fresh = "sum" not in self.state.get(parameter, ())
        total = self._state_tensor(parameter, "sum")
        if fresh and group["initial_accumulator_value"]:
            total.fill_(group["initial_accumulator_value"])
        state = self.state[parameter]
        state["step"] = state.get("step", 0) + 1
        _core.ops.adagrad(
            parameter,
            gradient,
            total,
            lr=group["lr"],
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            epsilon=group["eps"],
            step=state["step"],
            maximize=group["maximize"],
        )


class RMSprop(Optimizer):
    """Steps over a running root mean square of the gradients (Tieleman and Hinton, 2012)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, {**options, "centered": centered, "maximize": maximize})

    def _check_options(self, options: Any) -> None:
        check_not_negative(**{name: options[name] for name in ("lr", "alpha", "eps", "weight_decay", "momentum")})

    @_capture.by_numbers
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        _core.ops.rmsprop(
            parameter,
            gradient,
            self._state_tensor(parameter, "square_avg"),
            self._state_tensor(parameter, "grad_avg") if group["centered"] else None,
            self._state_tensor(parameter, "momentum_buffer") if group["momentum"] else None,
            lr=group["lr"],
            alpha=group["alpha"],
            epsilon=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            maximize=group["maximize"],
        )


class LAMB(Adam):
    """Adam's direction at the length of the parameter, for large batches (You et al., 2020)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 1e-2,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    @_capture.by_numbers
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        averages = [self._state_tensor(parameter, name) for name in ("exp_avg", "exp_avg_sq")]
        state = self.state[parameter]
        state["step"] = state.get("step", 0) + 1
        _core.ops.lamb(
            parameter,
            gradient,
            *averages,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            epsilon=group["eps"],
            weight_decay=group["weight_decay"],
            step=state["step"],
            maximize=group["maximize"],
        )
