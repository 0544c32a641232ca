"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _capture, _core
from .._core import Tensor
from ._optimizer import Optimizer, check_not_negative


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with an L2 penalty where asked for."""

    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, options)

    def _check_options(self, options: Any) -> None:
        check_not_negative(**{name: options[name] for name in ("lr", "eps", "weight_decay")})
        for beta in options["betas"]:
            if not 0 <= beta < 1:
                raise ValueError(f"each of betas is at least 0 and less than 1; found {options['betas']}")

    @_capture.by_numbers
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        averages = [self._state_tensor(parameter, name) for name in ("exp_avg", "exp_avg_sq")]
        state = self.state[parameter]
        state["step"] = state.get("step", 0) + 1
        _core.ops.adamw(
            parameter,
            gradient,
            *averages,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            epsilon=group["eps"],
            weight_decay=group["weight_decay"],
            step=state["step"],
            decoupled=self.decoupled,
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)
