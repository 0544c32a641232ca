"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _capture, _core
from .._core import Tensor
from ._optimizer import Optimizer, check_not_negative


class SGD(Optimizer):
    """Steps against the gradient, with momentum (Sutskever et al., 2013) and an L2 penalty where asked for."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize})

    def _check_options(self, options: Any) -> None:
        check_not_negative(**{name: options[name] for name in ("lr", "momentum", "weight_decay")})
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError("nesterov needs a momentum, and no dampening")

    @_capture.by_numbers
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        buffer, first = None, False
        if group["momentum"]:
            first = "momentum_buffer" not in self.state.get(parameter, ())
            buffer = self._state_tensor(parameter, "momentum_buffer")
        _core.ops.sgd(
            parameter,
            gradient,
            buffer,
            lr=group["lr"],
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=group["weight_decay"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            first_step=first,
        )
