"""Learning rates that change from epoch to epoch. ``step()`` goes after the optimizer's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _capture, _core
from ._optimizer import Optimizer


class LRScheduler:
    """Sets each group's lr to a function of its first lr and of the number of steps."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler takes an optimizer; found {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        """By what the first lr is multiplied in an epoch."""
        raise NotImplementedError

    def step(self) -> None:
        if _core._recording():
            _capture.note_step(self)
        self.last_epoch += 1
        for i, (group, base) in enumerate(zip(self.optimizer.param_groups, self.base_lrs, strict=True)):
            group["lr"] = base * self.factor(self.last_epoch, i, base)

    def get_last_lr(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Numbers only: functions are not saved."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if len(state_dict["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"the state has {len(state_dict['base_lrs'])} parameter groups, the optimizer {len(self.base_lrs)}"
            )
        self.base_lrs = list(state_dict["base_lrs"])
        self.last_epoch = state_dict["last_epoch"] - 1
        self.step()


class StepLR(LRScheduler):
    """Times gamma every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise ValueError(f"step_size must be positive; found {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return self.gamma ** (epoch // self.step_size)


class LambdaLR(LRScheduler):
    """Times what a function of the epoch says; one function for all groups, or a list."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"wanted {groups} functions, one a parameter group; found {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return self.lr_lambdas[group](epoch)


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` over `T_max` epochs along half a cosine, and up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_max < 1:
            raise ValueError(f"T_max must be positive; found {T_max}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        if base_lr == 0:
            return 0.0
        lowest = self.eta_min / base_lr
        return lowest + (1 - lowest) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` over `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"factors are between 0 and 1; found {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        done = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done
