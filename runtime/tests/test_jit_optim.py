"""dougong.jit: what optimizers and schedules change from step to step reaches the replays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dougong
import dougong.nn.functional as F
import numpy as np
from dougong import nn, optim


def test_sgd_with_momentum_and_weight_decay_follows_options_that_change() -> None:
    def trained(wrap: Callable[[Any], Any]) -> np.ndarray:
        weight = nn.Parameter(dougong.ones((4,)))
        optimizer = optim.SGD([weight], lr=0.1, momentum=0.9, weight_decay=0.1)

        def step(x: dougong.Tensor) -> None:
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()

        run = wrap(step)
        for i in range(8):
            optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
            optimizer.param_groups[0]["weight_decay"] = 0.1 if i < 5 else 0.0
            run(dougong.full((4,), float(i)))
        return weight.detach().numpy()

    assert np.array_equal(trained(dougong.jit), trained(lambda f: f))


def test_an_optimizer_that_draws_random_numbers_draws_those_that_it_would_without_jit() -> None:
    class Langevin(optim.SGD):
        def _update(self, parameter: dougong.Tensor, gradient: dougong.Tensor, group: dict[str, Any]) -> None:
            super()._update(parameter, gradient, group)
            parameter.add_(dougong.randn_like(parameter) * group["lr"])

    def trained(wrap: Callable[[Any], Any]) -> tuple[list[float], Any]:
        dougong.manual_seed(11)
        weight = nn.Parameter(dougong.ones((9,)))
        optimizer = Langevin([weight], lr=0.5)

        def step(x: dougong.Tensor) -> None:
            optimizer.zero_grad()
            F.dropout(weight * x).sum().backward()
            optimizer.step()

        run = wrap(step)
        for i in range(6):
            optimizer.param_groups[0]["lr"] = 0.5 / (i + 1)
            run(dougong.full((9,), float(i)))
        return weight.tolist(), dougong.get_rng_state()

    assert trained(dougong.jit) == trained(lambda f: f)


def test_parameters_whose_state_differs_are_updated_each_by_its_own_numbers() -> None:
    def trained(wrap: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
        weights = [nn.Parameter(dougong.full((3,), float(i))) for i in range(4)]
        optimizer = optim.AdamW([{"params": weights[:3]}, {"params": weights[3:], "lr": 0.2}], lr=0.1)

        def step(x: dougong.Tensor) -> None:
            optimizer.zero_grad()
            sum((weight * weight * x).sum() for weight in weights).backward()
            optimizer.step()

        run, kept = wrap(step), []
        for i in range(12):
            if i == 4:
                kept.append(optimizer.state[weights[2]]["exp_avg"])  # so that it is not noticed by being gone
                optimizer.state[weights[2]]["exp_avg"] = dougong.ones((3,))
            if i == 8:
                optimizer.state[weights[1]]["step"] = 1
                optimizer.param_groups[1]["lr"] = 0.01
            run(dougong.full((3,), float(i)))
        return [w.tolist() for w in weights], [optimizer.state[w]["step"] for w in weights]

    assert trained(dougong.jit) == trained(lambda f: f)


def test_a_replay_that_turns_out_wrong_half_way_has_counted_nothing() -> None:
    def trained(wrap: Callable[[Any], Any]) -> Any:
        weights = [nn.Parameter(dougong.ones((3,))) for _ in range(2)]
        optimizers = [optim.AdamW([weight], lr=0.1) for weight in weights]
        schedule = optim.lr_scheduler.StepLR(optimizers[0], 2, 0.5)

        def step(x: dougong.Tensor) -> None:
            for optimizer in optimizers:
                optimizer.zero_grad()
            sum((weight * weight * x).sum() for weight in weights).backward()
            optimizers[0].step()
            schedule.step()
            optimizers[1].step()

        run, kept = wrap(step), []
        for i in range(9):
            if i == 5:
                kept.append(optimizers[1].state[weights[1]]["exp_avg"])
                optimizers[1].state[weights[1]]["exp_avg"] = dougong.ones((3,))
            run(dougong.full((3,), float(i)))
        return (
            [w.tolist() for w in weights],
            schedule.state_dict(),
            [o.state[w]["step"] for o in optimizers for w in o.state],
        )

    assert trained(dougong.jit) == trained(lambda f: f)


def test_parameters_that_are_frozen_let_go_or_added_are_trained_or_not() -> None:
    def trained(wrap: Callable[[Any], Any]) -> list[list[float]]:
        weights = [nn.Parameter(dougong.ones((2,))) for _ in range(3)]
        optimizer = optim.SGD(weights[:2], lr=0.1)

        def step(x: dougong.Tensor) -> None:
            for weight in weights:
                weight.grad = None
            sum((weight * x).sum() for weight in weights).backward()
            optimizer.step()

        run, x = wrap(step), dougong.ones((2,))
        for i in range(12):
            if i in (3, 6):
                weights[0].requires_grad = i == 6
            if i == 9:
                optimizer.add_param_group({"params": [weights[2]]})
            run(x)
        return [weight.tolist() for weight in weights]

    assert trained(dougong.jit) == trained(lambda f: f)


def test_a_device_without_kernels_takes_numbers_that_change_from_an_optimizer(named: Any) -> None:
    class Shrinking(optim.Optimizer):
        def _update(self, parameter: dougong.Tensor, gradient: dougong.Tensor, group: dict[str, Any]) -> None:
            state = self.state.setdefault(parameter, {"step": 0})
            state["step"] += 1
            parameter.mul_(1 - group["lr"])
            parameter.add_(gradient * dougong.tensor([group["lr"] / state["step"]], device=parameter.device))

    def trained(wrap: Callable[[Any], Any]) -> tuple[list[float], Any]:
        weight = nn.Parameter(dougong.ones((3,), device="bare:0"))
        optimizer = Shrinking([weight], {"lr": 0.5})
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(x: dougong.Tensor) -> None:
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()

        run = wrap(step)
        for i in range(7):
            run(dougong.full((3,), float(i), device="bare:0"))
            schedule.step()
        return weight.tolist(), list(optimizer.state.values())

    dougong.load_plugin(named("bare"))
    assert trained(dougong.jit) == trained(lambda f: f)
