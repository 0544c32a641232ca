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


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return self.gamma ** sum(milestone <= epoch for milestone in self.milestones)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return self.gamma**epoch


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return self.first_factor if epoch < self.total_iters else 1.0


class PolynomialLR(LRScheduler):
    """Down to zero over `total_iters` epochs, as a power of what is left of them."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        return (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min` over `T_0` epochs, again and again, each time `T_mult` as long."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ValueError(f"T_0 and T_mult must be positive; found {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        length = self.T_0
        if self.T_mult == 1:
            epoch %= length
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        lowest = self.eta_min / base_lr if base_lr else 0.0
        return lowest + (1 - lowest) * (1 + math.cos(math.pi * epoch / length)) / 2


class OneCycleLR(LRScheduler):
    """Up from ``max_lr / div_factor`` to `max_lr`, then down to ``max_lr / div_factor / final_div_factor``, along half
    cosines or straight lines (Smith and Topin, 2017). Steps are batches. The momentum is left alone.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear'; found {anneal_strategy!r}")
        if total_steps < 1 or not 0 <= pct_start <= 1:
            raise ValueError(f"wanted a step and pct_start from 0 to 1; found {total_steps} steps and {pct_start}")
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        self.peak = pct_start * total_steps - 1
        for group in optimizer.param_groups:
            group["initial_lr"] = max_lr / div_factor
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        if epoch >= self.total_steps:
            raise ValueError(f"the cycle has {self.total_steps} steps; this is number {epoch + 1}")
        if epoch <= self.peak:
            return self._between(1.0, self.div_factor, epoch / self.peak if self.peak else 1.0)
        rest = self.total_steps - 1 - self.peak
        return self._between(self.div_factor, 1 / self.final_div_factor, (epoch - self.peak) / rest)

    def _between(self, start: float, end: float, part: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


class SequentialLR(LRScheduler):
    """One schedule after another: the next begins, at its own beginning, at each of the milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"wanted a milestone between each two schedulers; found {len(schedulers)} schedulers and "
                f"{len(milestones)} milestones"
            )
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("all schedulers must be of the same optimizer")
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, group: int, base_lr: float) -> float:
        current = sum(milestone <= epoch for milestone in self.milestones)
        begun = self.milestones[current - 1] if current else 0
        return self.schedulers[current].factor(epoch - begun, group, base_lr)


class ReduceLROnPlateau:
    """Times `factor` when a metric has not become better for more than `patience` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"mode is 'min' or 'max', threshold_mode 'rel' or 'abs'; found {mode!r}, {threshold_mode!r}"
            )
        if not factor < 1:
            raise ValueError(f"factor must be less than 1; found {factor}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.num_bad_epochs = self.cooldown_counter = 0

    def step(self, metrics: Any) -> None:
        """Takes the epoch's metric, a number or a tensor of one element."""
        value = float(metrics)
        self.last_epoch += 1
        better = self._is_better(value)
        self.best = value if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def _is_better(self, value: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1.0)
        return sign * value < sign * self.best - (margin if math.isfinite(self.best) else 0.0)

    def _reduce(self) -> None:
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower

    def get_last_lr(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("best", "last_epoch", "num_bad_epochs", "cooldown_counter")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)
