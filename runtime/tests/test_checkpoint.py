"""Activation recompute: the same gradients, bit for bit, without what is inside in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dougong
import pytest
from dougong import nn, optim
from dougong.checkpoint import checkpoint, checkpoint_sequential

Run = Callable[..., Any]


def plainly(function: Run, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def block(width: int = 8, dropout: float = 0.0) -> nn.Sequential:
    layers = [nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers)


def gradients(model: nn.Module, x: dougong.Tensor, forward: Callable[[], dougong.Tensor]) -> list[Any]:
    dougong.manual_seed(5)
    model.zero_grad()
    x.grad = None
    loss = forward()
    loss.backward()
    after = dougong.rand(3).tolist()
    return [loss.tolist(), *[p.grad.tolist() for p in model.parameters()], x.grad.tolist(), after]


def compare(model: nn.Module, forward: Callable[[Run], dougong.Tensor], x: dougong.Tensor) -> None:
    wanted = gradients(model, x, lambda: forward(plainly))
    assert gradients(model, x, lambda: forward(checkpoint)) == wanted


def leaf(*shape: int) -> dougong.Tensor:
    dougong.manual_seed(1)
    return dougong.randn(*shape, requires_grad=True)


def test_gradients_and_random_numbers_are_the_same_bit_for_bit():
    model, x = nn.Sequential(*[block(dropout=0.3) for _ in range(3)]), leaf(4, 8)

    def forward(run: Run) -> dougong.Tensor:
        h = x
        for part in model:
            h = h + run(part, h) * x  # the argument is used within, beside and after
        return (h * h).sum()

    compare(model, forward, x)


def test_parameters_that_only_the_function_knows_get_their_gradients():
    model, data = block(), dougong.ones(2, 8)
    wanted = dougong.autograd.grad(model(data).sum(), list(model.parameters()))
    found = dougong.autograd.grad(checkpoint(model, data).sum(), list(model.parameters()))
    assert [g.tolist() for g in found] == [g.tolist() for g in wanted]


def test_checkpoints_may_be_nested():
    model, x = nn.Sequential(block(dropout=0.2), block(dropout=0.2)), leaf(4, 8)

    def forward(run: Run) -> dougong.Tensor:
        def outer(h: dougong.Tensor) -> dougong.Tensor:
            h = run(model[0], h * 2) + h
            return run(model[1], h.tanh()) * h

        return run(outer, x.exp()).sum()

    compare(model, forward, x)


def test_only_the_arguments_are_kept_and_what_was_made_again_is_let_go():
    runs = []
    size = 1 << 16

    def function(h: dougong.Tensor) -> dougong.Tensor:
        runs.append(dougong.is_grad_enabled())
        for _ in range(10):
            h = h.sin()
        return h

    def kept(run: Run) -> int:
        before = x.device.memory_stats()["allocated"]
        y = run(function, x)
        held = x.device.memory_stats()["allocated"] - before
        y.sum().backward()
        x.grad = None
        assert x.device.memory_stats()["allocated"] - before <= 4 * size + 4096
        return held

    x = dougong.ones(size, requires_grad=True)
    assert kept(plainly) >= 9 * 4 * size
    assert kept(checkpoint) <= 1.5 * 4 * size
    assert kept(lambda f, *args: checkpoint(checkpoint, f, *args)) <= 1.5 * 4 * size
    assert runs == [True] * (1 + 2 + 2)  # the inner one is made again from a leaf: the outer one need not be


def test_an_argument_of_an_inner_checkpoint_is_not_kept_by_the_outer_one():
    size = 1 << 16
    x = dougong.ones(size, requires_grad=True)

    def outer(h: dougong.Tensor) -> dougong.Tensor:
        for _ in range(8):
            h = checkpoint(lambda v: v.sin().cos(), h)
        return h

    before = x.device.memory_stats()["allocated"]
    y = checkpoint(outer, x)
    assert x.device.memory_stats()["allocated"] - before <= 1.5 * 4 * size
    wanted = outer(x)
    y.sum().backward()
    found, x.grad = x.grad, None
    wanted.sum().backward()
    assert found.tolist() == x.grad.tolist()


def test_gradients_of_gradients_are_the_same():
    x = leaf(5)

    def second(run: Run) -> list[float]:
        y = run(lambda t: (t.sin() * t.exp()).tanh(), x)
        (first,) = dougong.autograd.grad(y.sum(), x, create_graph=True)
        return dougong.autograd.grad((first * first).sum(), x)[0].tolist()

    assert second(checkpoint) == second(plainly)


def test_a_graph_that_is_retained_can_be_walked_again():
    x = leaf(3)
    y = checkpoint(lambda t: t.sin().exp(), x).sum()
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    x.grad = None
    y.backward()
    assert x.grad.tolist() == first


def test_a_function_with_its_own_backward_keeps_nothing_either():
    class Cube(dougong.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: dougong.Tensor) -> dougong.Tensor:
            ctx.save_for_backward(t, None)
            return t * t * t

        @staticmethod
        def backward(ctx: Any, grad: dougong.Tensor) -> dougong.Tensor:
            t, nothing = ctx.saved_tensors
            assert nothing is None
            return grad * 3 * t * t

    x = dougong.ones(1 << 16, requires_grad=True)
    before = x.device.memory_stats()["allocated"]
    y = checkpoint(lambda t: Cube.apply(Cube.apply(t * 2)), x)
    assert x.device.memory_stats()["allocated"] - before <= 1.5 * 4 * (1 << 16)
    y.sum().backward()
    assert x.grad[0].item() == 9 * 2**9


def test_arguments_of_all_kinds_and_results_of_all_kinds():
    x, y = leaf(3), leaf(3)

    def function(pair: Any, scale: float, *, more: dict[str, Any]) -> dict[str, Any]:
        return {"sum": pair[0] * scale + more["y"], "product": [pair[0] * more["y"], None]}

    found = checkpoint(function, (x, "text"), 3.0, more={"y": y})
    (found["sum"].sum() + found["product"][0].sum()).backward()
    assert x.grad.tolist() == (y.detach() + 3).tolist() and y.grad.tolist() == (x.detach() + 1).tolist()


def test_without_a_tape_it_is_a_plain_call():
    with dougong.no_grad():
        assert not checkpoint(lambda t: t * 2, leaf(2)).requires_grad
    assert checkpoint(lambda t: t * 2, dougong.ones(2)).tolist() == [2.0, 2.0]


def test_a_second_run_that_differs_is_an_error_and_not_a_wrong_gradient():
    state = {"layers": 3, "wide": False}

    def function(t: dougong.Tensor) -> dougong.Tensor:
        for _ in range(state["layers"]):
            t = t.sin()
        return t

    x = leaf(4)
    y = checkpoint(function, x)
    state["layers"] = 2
    with pytest.raises(dougong.InvalidArgumentError, match="saved 2 values, now 1"):
        y.sum().backward()
    z = checkpoint(lambda t: (t[:2] if state["wide"] else t).sin().exp().sum(), x)
    state["wide"] = True
    with pytest.raises(dougong.InvalidArgumentError, match="now float32"):
        z.backward()


def test_an_argument_that_was_written_meanwhile_is_an_error():
    data, x = dougong.ones(3), leaf(3)
    y = checkpoint(lambda d, t: (d * t).sin(), data, x)
    data.fill_(2)
    with pytest.raises(dougong.InvalidArgumentError, match="gradient of checkpoint needs was written in place"):
        y.sum().backward()


def test_an_error_of_the_second_run_is_the_error_of_backward():
    calls = []

    def function(t: dougong.Tensor) -> dougong.Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("gone")
        return t.sin().exp()

    x = leaf(3)
    y = checkpoint(function, x).sum()
    with pytest.raises(KeyError, match="gone"):
        y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3 and x.grad is not None


def test_sequential_is_cut_into_segments():
    model, x = nn.Sequential(*[block(dropout=0.1) for _ in range(5)]), leaf(2, 8)
    wanted = gradients(model, x, lambda: model(x).sum())
    for segments in (1, 2, 5):
        assert gradients(model, x, lambda n=segments: checkpoint_sequential(model, n, x).sum()) == wanted
    with pytest.raises(ValueError, match="5 functions"):
        checkpoint_sequential(model, 6, x)
    with pytest.raises(ValueError, match="reentrant"):
        checkpoint(model, x, use_reentrant=True)


def test_a_captured_step_with_checkpoints_is_the_eager_one():
    def losses(wrap: Run, run: Run) -> list[float]:
        dougong.manual_seed(0)
        model = block(dropout=0.5)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        data = [dougong.randn(4, 8) for _ in range(5)]

        def step(x: dougong.Tensor) -> dougong.Tensor:
            optimizer.zero_grad()
            y = run(model, x)
            loss = (y * y).mean()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        return [step(x).item() for x in data]

    wanted = losses(lambda step: step, plainly)
    assert losses(dougong.jit, checkpoint) == wanted and len(set(wanted)) == 5
