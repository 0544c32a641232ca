"""Adagrad, RMSprop and LAMB by their formulas, and schedules by right values (those of PyTorch 2.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dougong
import numpy as np
import pytest
from dougong import nn, optim
from dougong.optim import lr_scheduler

START = np.array([0.3, -1.2, 2.0, 0.5])
GRADIENTS = [np.array([1.0, -0.5, 0.25, 2.0]), np.array([-0.3, 0.7, 1.5, -1.0]), np.array([0.9, 0.1, -2.0, 0.4])]


def trained(make: Callable[[Any], optim.Optimizer]) -> np.ndarray:
    parameter = nn.Parameter(dougong.tensor(START))
    optimizer = make([parameter])
    for gradient in GRADIENTS:
        parameter.grad = dougong.tensor(gradient)
        optimizer.step()
    return parameter.detach().numpy()


@pytest.mark.parametrize("maximize", [False, True])
def test_adagrad(maximize: bool) -> None:
    found = trained(
        lambda p: optim.Adagrad(
            p, lr=0.1, lr_decay=0.5, weight_decay=0.2, initial_accumulator_value=0.25, maximize=maximize
        )
    )
    p, total = START.copy(), np.full(4, 0.25)
    for step, gradient in enumerate(GRADIENTS):
        g = (-gradient if maximize else gradient) + 0.2 * p
        total += g * g
        p -= 0.1 / (1 + step * 0.5) * g / (np.sqrt(total) + 1e-10)
    np.testing.assert_allclose(found, p, rtol=1e-14)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rmsprop(centered: bool, momentum: float) -> None:
    found = trained(lambda p: optim.RMSprop(p, lr=0.05, alpha=0.8, momentum=momentum, centered=centered))
    p, squares, average, buffer = START.copy(), np.zeros(4), np.zeros(4), np.zeros(4)
    for g in GRADIENTS:
        squares = 0.8 * squares + 0.2 * g * g
        average = 0.8 * average + 0.2 * g
        direction = g / (np.sqrt(squares - (average**2 if centered else 0)) + 1e-8)
        buffer = momentum * buffer + direction
        p -= 0.05 * buffer
    np.testing.assert_allclose(found, p, rtol=1e-12)


def test_lamb_steps_by_the_length_of_the_parameter() -> None:
    found = trained(lambda p: optim.LAMB(p, lr=0.1, weight_decay=0.01))
    p, m, v = START.copy(), np.zeros(4), np.zeros(4)
    for step, g in enumerate(GRADIENTS, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        direction = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-6) + 0.01 * p
        p = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(direction) * direction
    np.testing.assert_allclose(found, p, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.Adagrad(p, lr=-1),
        lambda p: optim.RMSprop(p, momentum=-0.1),
        lambda p: optim.LAMB(p, betas=(0.9, 1.0)),
    ],
)
def test_options_out_of_range_are_refused(make) -> None:
    with pytest.raises(ValueError):
        make([nn.Parameter(dougong.ones(2))])


def test_state_survives_saving() -> None:
    for kind in (optim.Adagrad, optim.LAMB, lambda p: optim.RMSprop(p, centered=True, momentum=0.5)):
        parameters = [nn.Parameter(dougong.tensor(START)) for _ in range(2)]
        optimizers = [kind([p]) for p in parameters]
        for gradient in GRADIENTS:
            for parameter, optimizer in zip(parameters, optimizers, strict=True):
                parameter.grad = dougong.tensor(gradient)
                optimizer.step()
            optimizers[1] = kind([parameters[1]])
            optimizers[1].load_state_dict(optimizers[0].state_dict())
        assert parameters[0].tolist() == parameters[1].tolist()


# -- schedules -----------------------------------------------------------------------------------------------------


def rates(make: Callable[[optim.Optimizer], Any], count: int, metrics: list[float] | None = None) -> list[float]:
    optimizer = optim.SGD([nn.Parameter(dougong.ones(2))], lr=0.5)
    scheduler, found = make(optimizer), []
    for i in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        if i < count - 1:
            scheduler.step(*([metrics[i]] if metrics else []))
    return found


SCHEDULES = {
    "multi-step": (lambda o: lr_scheduler.MultiStepLR(o, [3, 5], 0.5), [0.5, 0.5, 0.5, 0.25, 0.25, 0.125]),
    "exponential": (lambda o: lr_scheduler.ExponentialLR(o, 0.9), [0.5, 0.45, 0.405, 0.3645]),
    "constant": (lambda o: lr_scheduler.ConstantLR(o, 0.5, 2), [0.25, 0.25, 0.5, 0.5]),
    "polynomial": (
        lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0),
        [0.5, 0.34722222222222227, 0.22222222222222227, 0.125, 0.05555555555555557, 0.01388888888888889, 0, 0],
    ),
    "restarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
        [0.5, 0.3775, 0.1325, 0.5, 0.4671762239271875, 0.3775, 0.255, 0.1325, 0.04282377607281252, 0.5],
    ),
    "one-cycle": (
        lambda o: lr_scheduler.OneCycleLR(o, 1.0, 8),
        [
            0.040000000000000036,
            0.819275104892192,
            0.9719417773875232,
            0.811745653949763,
            0.5559840141227016,
            0.28306099820869923,
            0.0766415938342564,
            4e-06,
        ],
    ),
    "one-cycle-linear": (
        lambda o: lr_scheduler.OneCycleLR(o, 1.0, 12, anneal_strategy="linear", pct_start=0.5),
        [0.04, 0.232, 0.424, 0.616, 0.808, 1.0, 0.833334, 0.666668, 0.500002, 0.333336, 0.16667, 4e-6],
    ),
    "sequence": (
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.ConstantLR(o, 0.1, 3), lr_scheduler.ExponentialLR(o, 0.5)], [4]
        ),
        [0.05, 0.05, 0.05, 0.5, 0.5, 0.25, 0.125],
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    make, wanted = SCHEDULES[name]
    assert rates(make, len(wanted)) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_a_plateau_lowers_the_rate() -> None:
    metrics = [5, 4, 4, 4, 4, 4.1, 4, 3, 3, 3, 3]
    found = rates(lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1), 12, metrics)
    assert found == [0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.0625, 0.0625]


def test_a_cycle_that_is_over_says_so() -> None:
    with pytest.raises(ValueError, match="the cycle has 3 steps"):
        rates(lambda o: lr_scheduler.OneCycleLR(o, 1.0, 3), 4)
