"""dougong.jit: what is refused, threads, exceptions, and how memory is planned."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dougong
import dougong.nn.functional as F
import numpy as np
import pytest
from dougong import nn, optim

# ---- What is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [lambda x: x.sum().item(), lambda x: bool(x.sum() > 0), lambda x: x.numpy(), lambda x: x.tolist(), np.from_dlpack],
    ids=["item", "bool", "numpy", "tolist", "dlpack"],
)
def test_a_function_that_reads_a_value_is_refused_with_the_line(read: Callable[[dougong.Tensor], Any]) -> None:
    jitted = dougong.jit(read)
    x = dougong.ones((2,))
    with pytest.raises(dougong.UnsupportedError, match=rf"{Path(__file__).name}:\d+ .*where\(\) instead of if"):
        jitted(x)
    read(x)


def test_a_function_that_writes_into_an_argument_is_refused() -> None:
    jitted = dougong.jit(lambda x: x.mul_(2))
    with pytest.raises(dougong.UnsupportedError, match="argument 0"):
        jitted(dougong.ones((2,)))


def test_a_result_with_a_history_is_refused() -> None:
    model = nn.Linear(2, 1)
    jitted = dougong.jit(model)
    jitted(dougong.ones((1, 2)))
    with pytest.raises(dougong.UnsupportedError, match="no backward was run"):
        jitted(dougong.ones((1, 2)))


def test_a_tensor_that_the_call_replaces_is_refused() -> None:
    state = {"h": dougong.zeros((3,))}

    def cell(x: dougong.Tensor) -> dougong.Tensor:
        state["h"] = state["h"] * 0.5 + x
        return state["h"]

    jitted = dougong.jit(cell)
    jitted(dougong.ones((3,)))
    with pytest.raises(dougong.UnsupportedError, match="was replaced"):
        jitted(dougong.ones((3,)))


def test_a_state_written_in_place_is_carried_from_replay_to_replay() -> None:
    state = dougong.zeros((3,))

    def cell(x: dougong.Tensor) -> dougong.Tensor:
        state.copy_(state * 0.5 + x)
        return state

    jitted, wanted = dougong.jit(cell), 0.0
    for i in range(5):
        wanted = wanted * 0.5 + i
        assert jitted(dougong.full((3,), float(i))).tolist() == [wanted] * 3


def test_a_module_that_sets_a_tensor_or_a_number_in_the_call_is_told() -> None:
    class Counting(nn.Module):
        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind, self.count, self.last = kind, 0, None

        def forward(self, x: dougong.Tensor) -> dougong.Tensor:
            y = x * 2
            if self.kind == "number":
                self.count += 1
            else:
                self.last = y
            return y

    x = dougong.ones((2,))
    counting, setting = dougong.jit(Counting("number")), dougong.jit(Counting("tensor"))
    counting(x), setting(x)
    with pytest.warns(RuntimeWarning, match=r"Counting\.count"):
        counting(x)
    with pytest.raises(dougong.UnsupportedError, match=r"Counting\.last"):
        setting(x)


def test_arrays_and_seeds_that_would_be_frozen_are_refused() -> None:
    with pytest.raises(TypeError, match="NumPy"):
        dougong.jit(lambda x: x)(np.ones(2))

    def seeded(x: dougong.Tensor) -> dougong.Tensor:
        dougong.manual_seed(1)
        return F.dropout(x)

    jitted = dougong.jit(seeded)
    jitted(dougong.ones((2,)))
    dougong.manual_seed(4)
    with pytest.raises(dougong.UnsupportedError, match="Seed it outside"):
        jitted(dougong.ones((2,)))


def test_an_optimizer_or_schedule_that_would_be_frozen_is_refused() -> None:
    weight = nn.Parameter(dougong.ones((2,)))

    class Own(optim.SGD):
        def step(self, closure: Any = None) -> None:
            with dougong.no_grad():
                weight.sub_(weight.grad * self.param_groups[0]["lr"])

    class Passing(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    def train(optimizer: optim.Optimizer, decay: float) -> Any:
        def step(x: dougong.Tensor) -> None:
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()
            optimizer.param_groups[0]["lr"] *= decay

        jitted = dougong.jit(step)
        jitted(dougong.ones((2,)))
        jitted(dougong.ones((2,)))
        return jitted

    with pytest.raises(dougong.UnsupportedError, match="step of Own cannot be replayed"):
        train(Own([weight], lr=0.1), 1.0)
    with pytest.raises(dougong.UnsupportedError, match="options of an optimizer"):
        train(Passing([weight], lr=0.1), 0.5)
    assert train(Passing([weight], lr=0.1), 1.0).captures


def test_an_exception_in_a_capture_leaves_all_as_it_was() -> None:
    fails = [False, True, False, False, False]

    def function(x: dougong.Tensor) -> dougong.Tensor:
        y = x + 1
        if fails.pop(0):
            raise KeyError("mine")
        return y

    jitted, x = dougong.jit(function), dougong.ones((2,))
    jitted(x)
    with pytest.raises(KeyError, match="mine"):
        jitted(x)
    assert x.sum().item() == 2.0
    assert [jitted(x).tolist() for _ in range(3)] == [[2.0, 2.0]] * 3
    assert len(fails) == 2


def test_threads_take_turns_and_another_thread_is_not_recorded() -> None:
    weight = dougong.ones((64,))
    jitted = dougong.jit(lambda x: (x * weight).sum())
    wrong: list[float] = []

    def work(number: int) -> None:
        x = dougong.full((64,), float(number))
        for _ in range(50):
            if jitted(x).item() != 64.0 * number or (x + 1)[0].item() != number + 1:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(jitted.captures) == 1


def test_two_threads_capture_at_the_same_time_without_mixing() -> None:
    meeting, results = threading.Barrier(2), {}

    def work(factor: float) -> None:
        def function(x: dougong.Tensor) -> dougong.Tensor:
            for _ in range(20):
                x = x * factor
            meeting.wait(10)
            return x + factor

        jitted = dougong.jit(function)
        results[factor] = [jitted(dougong.ones((8,))).tolist() for _ in range(2)]
        results[factor] += [jitted(dougong.ones((8,))).tolist() for _ in range(20)]
        assert jitted.captures[0]["calls"] == 21
        results[factor, "done"] = True

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[1.0] == [[2.0] * 8] * 22 and results[1.0, "done"]
    assert results[2.0] == [[2.0**20 + 2] * 8] * 22 and results[2.0, "done"]


# ---- Memory ------------------------------------------------------------------------------------------------------


def test_intermediates_share_memory_that_was_planned() -> None:
    def chain(x: dougong.Tensor) -> dougong.Tensor:
        for _ in range(10):
            x = x + 1
        return x

    jitted, x = dougong.jit(chain), dougong.ones((1024,))
    for _ in range(3):
        assert jitted(x).tolist() == [11.0] * 1024
    (stats,) = jitted.captures
    assert stats == {
        "calls": 10,
        "kernels": 10,
        "fixed_calls": 0,
        "fixed_bytes": 0,
        "separate_bytes": 9 * 4096,
        "planned_bytes": 2 * 4096,
        "kept_bytes": 4096,
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_keeps_pieces_apart_that_live_at_the_same_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pieces = [(int(64 * rng.integers(1, 20)), int(f), int(f + rng.integers(0, 8))) for f in rng.integers(0, 60, 120)]
    offsets, total = dougong._core._plan_arena(pieces)
    for i, (size, first, last) in enumerate(pieces):
        assert offsets[i] + size <= total
        for j, (other, begin, end) in enumerate(pieces[:i]):
            if first <= end and begin <= last:
                assert offsets[i] + size <= offsets[j] or offsets[j] + other <= offsets[i]
    peak = max(sum(s for s, first, last in pieces if first <= t <= last) for t in range(70))
    assert peak <= total <= 1.3 * peak


def test_replays_allocate_nothing_but_their_results() -> None:
    weight = nn.Parameter(dougong.ones((32, 32)))

    @dougong.jit
    def step(x: dougong.Tensor) -> dougong.Tensor:
        weight.grad = None
        loss = F.gelu(x @ weight).sum()
        loss.backward()
        return loss

    x, device = dougong.ones((32, 32)), dougong.device("cpu:0")
    for _ in range(3):
        step(x)
    before = device.memory_stats()
    loss = step(x)
    after = device.memory_stats()
    assert after["allocations"] - before["allocations"] == 1
    assert after["allocated"] - before["allocated"] < 1024 and loss.ndim == 0
    assert after["device_allocations"] == before["device_allocations"]
