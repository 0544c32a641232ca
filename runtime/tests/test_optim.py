"""Optimizers: PyTorch's formulas computed with NumPy, groups, schedules, and state that finds its parameter."""

from __future__ import annotations

import math

import dougong
import numpy as np
import pytest
from dougong import nn, optim


def steps(optimizer: optim.Optimizer, parameter: dougong.Tensor, gradients: list[np.ndarray]) -> np.ndarray:
    for gradient in gradients:
        parameter.grad = dougong.tensor(gradient, dtype=parameter.dtype)
        optimizer.step()
    return parameter.detach().numpy()


def material(count: int = 5) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(7), [rng.standard_normal(7) for _ in range(count)]


def parameter_of(value: np.ndarray) -> nn.Parameter:
    return nn.Parameter(dougong.tensor(value, dtype=dougong.float64))


SGD = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.3},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
    {"momentum": 0.5, "weight_decay": 0.1, "maximize": True},
]


@pytest.mark.parametrize("options", SGD, ids=str)
def test_sgd(options):
    value, gradients = material()
    momentum, decay = options.get("momentum", 0), options.get("weight_decay", 0)
    p, buffer = value.copy(), None
    for gradient in gradients:
        g = (-gradient if options.get("maximize") else gradient) + decay * p
        if momentum:
            buffer = g if buffer is None else momentum * buffer + (1 - options.get("dampening", 0)) * g
            g = g + momentum * buffer if options.get("nesterov") else buffer
        p = p - 0.1 * g
    parameter = parameter_of(value)
    found = steps(optim.SGD([parameter], lr=0.1, **options), parameter, gradients)
    assert np.allclose(found, p, rtol=1e-12)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1, "betas": (0.8, 0.95)}, {"maximize": True, "eps": 1e-3}])
def test_adam(kind, options):
    value, gradients = material()
    beta1, beta2 = options.get("betas", (0.9, 0.999))
    decay = options.get("weight_decay", 0.01 if kind is optim.AdamW else 0)
    p, mean, square = value.copy(), 0, 0
    for step, gradient in enumerate(gradients, 1):
        g = -gradient if options.get("maximize") else gradient
        if kind is optim.AdamW:
            p = p * (1 - 0.1 * decay)
        else:
            g = g + decay * p
        mean, square = beta1 * mean + (1 - beta1) * g, beta2 * square + (1 - beta2) * g * g
        scale = np.sqrt(square) / math.sqrt(1 - beta2**step) + options.get("eps", 1e-8)
        p = p - 0.1 / (1 - beta1**step) * mean / scale
    parameter = parameter_of(value)
    found = steps(kind([parameter], lr=0.1, **options), parameter, gradients)
    assert np.allclose(found, p, rtol=1e-10)


def test_adam_with_a_constant_gradient_moves_by_the_rate_each_step():
    parameter = nn.Parameter(dougong.ones(1))
    found = steps(optim.Adam([parameter], lr=0.1, eps=0), parameter, [np.array([0.5])] * 3)
    assert abs(found[0] - 0.7) < 1e-6


def test_parameter_without_gradient_or_frozen_is_left_alone():
    moved, still, frozen = (nn.Parameter(dougong.ones(1)) for _ in range(3))
    frozen.requires_grad = False
    optimizer = optim.Adam([moved, still, frozen], weight_decay=1.0)
    moved.grad = dougong.ones(1)
    optimizer.step()
    assert still.tolist() == frozen.tolist() == [1]
    assert moved.tolist() != [1]
    assert set(optimizer.state_dict()["state"]) == {0}


def test_zero_grad():
    parameter = nn.Parameter(dougong.ones(1))
    optimizer = optim.SGD([parameter], lr=1)
    parameter.grad = dougong.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert parameter.grad.tolist() == [0]
    optimizer.zero_grad()
    assert parameter.grad is None
    optimizer.step()
    assert parameter.tolist() == [1]


def test_closure_is_called_with_gradients_enabled_and_its_loss_returned():
    parameter = nn.Parameter(dougong.ones(1))
    optimizer = optim.SGD([parameter], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (parameter * parameter).sum()
        loss.backward()
        return loss

    with dougong.no_grad():
        assert optimizer.step(closure).item() == 1
    assert parameter.tolist() == [0]


def test_step_leaves_parameters_as_leaves_that_need_gradients():
    parameter = nn.Parameter(dougong.ones(2))
    optimizer = optim.Adam([parameter])
    for _ in range(3):
        optimizer.zero_grad()
        (parameter * parameter).sum().backward()
        optimizer.step()
    assert parameter.is_leaf
    assert parameter.requires_grad


# -- groups --------------------------------------------------------------------------------------------------------


def test_groups_have_options_of_their_own():
    a, b, c = (nn.Parameter(dougong.ones(1)) for _ in range(3))
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    for parameter in (a, b, c):
        parameter.grad = dougong.ones(1)
    optimizer.step()
    assert np.allclose([a.item(), b.item(), c.item()], [0.5, 0.9, 0.9])
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]
    assert "lr: 0.5" in repr(optimizer)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: optim.SGD([]), ValueError, "at least one parameter"),
        (lambda p: optim.SGD(p), TypeError, "one tensor"),
        (lambda p: optim.SGD([1]), TypeError, "int"),
        (lambda p: optim.SGD([p, p]), ValueError, "twice"),
        (lambda p: optim.SGD([p * 2]), ValueError, "history"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "lr"),
        (lambda p: optim.SGD([p], lr=float("nan")), ValueError, "lr"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda p: optim.Adam([{"params": [p], "momentum": 1}]), ValueError, "momentum"),
        (lambda p: optim.Adam([{"lr": 1}]), TypeError, "params"),
        (lambda p: optim.Adam([{"params": {p}}]), TypeError, "order"),
        (lambda p: optim.Adam([("a", p), p]), ValueError, "names"),
    ],
)
def test_wrong_arguments_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make(nn.Parameter(dougong.ones(1)))


# -- state ---------------------------------------------------------------------------------------------------------


def model_with_idle_parameters() -> nn.Module:
    dougong.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(2, 1))
    model[0].weight.requires_grad = False
    model.idle = nn.Parameter(dougong.ones(2))
    return model


def train(model: nn.Module, optimizer: optim.Optimizer, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad()
        model(dougong.ones(4, 2)).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", [optim.Adam, lambda p: optim.SGD(p, lr=0.01, momentum=0.9)])
def test_state_finds_its_parameter_past_frozen_and_idle_ones(kind, named):
    def parameters(model):
        return model.named_parameters() if named else model.parameters()

    straight = model_with_idle_parameters()
    optimizer = kind(parameters(straight))
    train(straight, optimizer, 5)
    halfway = model_with_idle_parameters()
    halfway.load_state_dict(straight.state_dict())
    resumed = kind(parameters(halfway))
    resumed.load_state_dict(optimizer.state_dict())
    train(straight, optimizer, 5)
    train(halfway, resumed, 5)
    for a, b in zip(straight.parameters(), halfway.parameters(), strict=True):
        assert a.tolist() == b.tolist()


def test_loaded_state_is_a_copy():
    parameter = nn.Parameter(dougong.ones(1))
    optimizer = optim.Adam([parameter])
    steps(optimizer, parameter, [np.ones(1)])
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    steps(optimizer, parameter, [np.ones(1)])
    assert np.isclose(state["state"][0]["exp_avg"].item(), 0.1)
    assert state["state"][0]["step"] == 1


def test_state_of_other_parameters_is_refused_and_changes_nothing():
    one = optim.Adam([nn.Parameter(dougong.ones(2)), nn.Parameter(dougong.ones(3))])
    with pytest.raises(ValueError, match=r"optimizer has 1 .*state 2"):
        optim.Adam([nn.Parameter(dougong.ones(2))]).load_state_dict(one.state_dict())
    swapped = optim.Adam([nn.Parameter(dougong.ones(3)), nn.Parameter(dougong.ones(2))], lr=0.5)
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        swapped.load_state_dict(one.state_dict())
    assert swapped.param_groups[0]["lr"] == 0.5
    named = optim.Adam([("a", nn.Parameter(dougong.ones(2))), ("b", nn.Parameter(dougong.ones(3)))])
    with pytest.raises(ValueError, match="a, b"):
        named.load_state_dict(one.state_dict())


def test_state_follows_its_parameters_dtype():
    parameter = nn.Parameter(dougong.ones(1))
    module = nn.Module()
    module.parameter = parameter
    optimizer = optim.Adam([parameter])
    steps(optimizer, parameter, [np.ones(1)])
    module.double()
    steps(optimizer, parameter, [np.ones(1)])
    assert optimizer.state[parameter]["exp_avg"].dtype == dougong.float64


# -- schedules -----------------------------------------------------------------------------------------------------


def rates(make, count: int = 8) -> list[float]:
    optimizer = optim.SGD([nn.Parameter(dougong.ones(1))], lr=0.8)
    scheduler = make(optimizer)
    found = []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_schedules():
    lr = optim.lr_scheduler
    assert np.allclose(rates(lambda o: lr.StepLR(o, 3, 0.5)), [0.8] * 3 + [0.4] * 3 + [0.2] * 2)
    assert np.allclose(rates(lambda o: lr.LambdaLR(o, lambda e: 1 / (e + 1))), 0.8 / np.arange(1, 9))
    cosine = 0.2 + (0.8 - 0.2) * (1 + np.cos(np.pi * np.arange(8) / 4)) / 2
    assert np.allclose(rates(lambda o: lr.CosineAnnealingLR(o, 4, 0.2)), cosine)
    linear = 0.8 * (0.5 + 0.5 * np.minimum(np.arange(8), 4) / 4)
    assert np.allclose(rates(lambda o: lr.LinearLR(o, 0.5, total_iters=4)), linear)


def test_schedule_continues_from_its_state():
    optimizer = optim.SGD([nn.Parameter(dougong.ones(1))], lr=0.8)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(3):
        scheduler.step()
    state, options = scheduler.state_dict(), optimizer.state_dict()
    other = optim.SGD([nn.Parameter(dougong.ones(1))], lr=0.8)
    resumed = optim.lr_scheduler.StepLR(other, 2, 0.5)
    other.load_state_dict(options)
    resumed.load_state_dict(state)
    assert resumed.get_last_lr() == [0.4]
    resumed.step()
    assert resumed.get_last_lr() == [0.2]


def test_gradients_in_float16_are_clipped_by_a_norm_that_does_not_overflow():
    parameter = nn.Parameter(dougong.zeros(2, dtype=dougong.float16))
    parameter.grad = dougong.tensor([300.0, 400.0], dtype=dougong.float16)
    assert nn.utils.clip_grad_norm_([parameter], 1.0).item() == 500
    assert parameter.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-3)


@pytest.mark.parametrize(("kind", "wanted"), [(0.0, 1.0), (float("-inf"), 3.0), (1.0, 7.0), (float("inf"), 4.0)])
def test_norms_of_other_kinds(kind, wanted):
    assert nn.utils.get_total_norm([dougong.tensor([3.0, 4.0])], kind).item() == wanted
