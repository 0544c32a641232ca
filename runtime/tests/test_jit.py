"""dougong.jit: replays do what the calls would have done, or say why they cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dougong
import dougong.nn.functional as F
import numpy as np
import pytest
from dougong import nn, optim

VOCABULARY, WIDTH, LENGTH = 11, 8, 6


class Model(nn.Module):
    def __init__(self, p: float = 0.25) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.norm, self.dropout = nn.LayerNorm(WIDTH), nn.Dropout(p)

    def forward(self, tokens: dougong.Tensor) -> dougong.Tensor:
        x = self.embedding(tokens)
        q, k, v = dougong.chunk(self.qkv(self.norm(x)), 3, -1)
        x = x + self.dropout(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.out(F.gelu(x))


class Training:
    """A model, an optimizer with a schedule, and its step."""

    def __init__(self, jitted: bool, device: str = "cpu:0", schedule_inside: bool = False) -> None:
        dougong.manual_seed(3)
        self.model = Model().to(device)
        self.optimizer = optim.AdamW(self.model.named_parameters(), lr=0.01)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 4, 0.5)
        self.schedule_inside = schedule_inside
        self.runs = 0  # how often Python ran the step
        self.step: Callable[..., Any] = dougong.jit(self.plain_step) if jitted else self.plain_step

    def plain_step(self, x: dougong.Tensor, y: dougong.Tensor) -> tuple[dougong.Tensor, dougong.Tensor]:
        self.runs += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x).reshape(-1, VOCABULARY), y.reshape(-1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        if self.schedule_inside:
            self.schedule.step()
        return loss, norm

    def train(self, steps: int) -> list[tuple[float, float]]:
        losses = []
        for i in range(steps):
            loss, norm = self.step(*batch(i, str(self.model.out.weight.device)))
            if not self.schedule_inside:
                self.schedule.step()
            losses.append((loss.item(), norm.item()))
        return losses

    def values(self) -> list[np.ndarray]:
        state = self.optimizer.state_dict()["state"]
        tensors = [t for key in sorted(state) for t in state[key].values() if isinstance(t, dougong.Tensor)]
        return [t.numpy() for t in [*(p.detach().cpu() for p in self.model.parameters()), *(t.cpu() for t in tensors)]]

    def numbers(self) -> Any:
        state = self.optimizer.state_dict()["state"]
        return [state[key]["step"] for key in sorted(state)], self.schedule.state_dict(), self.schedule.get_last_lr()


def batch(i: int, device: str = "cpu:0", rows: int = 3) -> tuple[dougong.Tensor, dougong.Tensor]:
    tokens = np.random.default_rng(i).integers(0, VOCABULARY, (rows, LENGTH + 1))
    whole = dougong.tensor(tokens, device=device)
    return whole[:, :-1], whole[:, 1:]


def assert_same_training(ours: Training, plain: Training, steps: int) -> None:
    states = []
    for training in (ours, plain):
        dougong.manual_seed(5)
        states.append((training.train(steps), dougong.get_rng_state(training.model.out.weight.device)))
    assert states[0] == states[1]
    assert all(np.array_equal(a, b) for a, b in zip(ours.values(), plain.values(), strict=True))
    assert ours.numbers() == plain.numbers()


# ---- A training step -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True], ids=["schedule-outside", "schedule-inside"])
def test_twenty_steps_with_dropout_schedule_and_clipping_equal_those_without_jit_in_each_bit(inside: bool) -> None:
    ours = Training(True, schedule_inside=inside)
    assert_same_training(ours, Training(False, schedule_inside=inside), 20)
    assert ours.runs == 2


def test_the_second_call_is_captured_and_later_ones_run_no_python() -> None:
    training = Training(True)
    training.train(2)
    assert (training.runs, len(training.step.captures)) == (2, 1)
    training.train(5)
    assert training.runs == 2


def test_gradients_are_there_after_a_replay_though_they_were_dropped_before() -> None:
    ours, plain = Training(True), Training(False)
    for training in (ours, plain):
        for i in range(4):
            training.optimizer.zero_grad()
            dougong.manual_seed(i)
            training.step(*batch(i))
    assert np.array_equal(ours.model.qkv.weight.grad.numpy(), plain.model.qkv.weight.grad.numpy())


def test_gradients_accumulate_over_calls_as_without_jit() -> None:
    def accumulated(wrap: Callable[[Any], Any]) -> list[np.ndarray]:
        dougong.manual_seed(1)
        model = nn.Linear(3, 2)

        def micro(x: dougong.Tensor) -> None:
            (model(x) ** 2).sum().backward()

        step, seen = wrap(micro), []
        for i in range(12):
            if i % 3 == 0:
                model.zero_grad()
            step(dougong.full((2, 3), float(i)))
            seen.append(model.weight.grad.numpy().copy())
        return seen

    for ours, plain in zip(accumulated(dougong.jit), accumulated(lambda f: f), strict=True):
        assert np.array_equal(ours, plain)


def test_a_state_that_is_loaded_goes_on_from_there() -> None:
    ours, plain = Training(True), Training(False)
    for training in (ours, plain):
        dougong.manual_seed(1)
        training.train(4)
        training.kept = {k: v.clone() for k, v in training.model.state_dict().items()}
        training.saved = training.optimizer.state_dict()
        training.train(3)
        training.model.load_state_dict(training.kept)
        training.optimizer.load_state_dict(training.saved)
    assert_same_training(ours, plain, 4)


def test_kernels_with_plans_and_workspace_are_replayed() -> None:
    def trained(wrap: Callable[[Any], Any]) -> list[list[float]]:
        dougong.manual_seed(2)
        model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 3, stride=2))
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)

        def step(x: dougong.Tensor) -> dougong.Tensor:
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run, images = wrap(step), np.random.default_rng(0).standard_normal((6, 2, 2, 7, 7)).astype(np.float32)
        return [run(dougong.tensor(image)).tolist() for image in images]

    assert trained(dougong.jit) == trained(lambda f: f)


# ---- Inference ---------------------------------------------------------------------------------------------------


def test_inference_under_no_grad_is_replayed_with_new_arguments() -> None:
    model = Model().eval()
    jitted = dougong.jit(model)
    with dougong.no_grad():
        for i in range(5):
            x = batch(i)[0]
            assert np.array_equal(jitted(x).numpy(), model(x).numpy())
    assert len(jitted.captures) == 1


def test_results_are_tensors_of_their_own_in_the_structure_of_the_function() -> None:
    weight = dougong.ones((3,))
    jitted = dougong.jit(lambda x, scale=1: {"sum": x + weight, "parts": (x * scale, x, weight, "text")})
    results = [jitted(dougong.full((3,), float(i)), scale=2) for i in range(5)]
    assert [r["sum"].tolist() for r in results] == [[i + 1.0] * 3 for i in range(5)]
    assert [r["parts"][0].tolist() for r in results] == [[2.0 * i] * 3 for i in range(5)]
    assert [r["parts"][1].tolist() for r in results] == [[float(i)] * 3 for i in range(5)]
    assert all(r["parts"][2] is weight and r["parts"][3] == "text" for r in results)


def test_constants_made_in_the_call_are_made_in_each_replay() -> None:
    def running(x: dougong.Tensor) -> dougong.Tensor:
        total = dougong.tensor([1.0, 2.0])
        total += x
        return total

    jitted = dougong.jit(running)
    assert [jitted(dougong.full((2,), float(i))).tolist() for i in range(4)] == [[i + 1.0, i + 2.0] for i in range(4)]


def test_arrays_are_made_tensors_in_each_replay() -> None:
    array = np.arange(3.0)
    jitted = dougong.jit(lambda x: x + dougong.tensor(array) + dougong.asarray([1, 2, 3]))
    assert [jitted(dougong.full((3,), float(i))).tolist() for i in range(4)] == [
        [i + 1.0, i + 3.0, i + 5.0] for i in range(4)
    ]


def test_what_is_the_same_in_each_replay_is_computed_once() -> None:
    def masked(x: dougong.Tensor) -> dougong.Tensor:
        mask = dougong.arange(4).reshape(4, 1) >= dougong.arange(4)
        counts = dougong.zeros((4,))
        counts += 1  # written twice: made anew each time
        return dougong.where(mask, x, counts)

    jitted = dougong.jit(masked)
    for i in range(4):
        x = dougong.full((4, 4), float(i))
        assert np.array_equal(jitted(x).numpy(), masked(x).numpy())
    (stats,) = jitted.captures
    assert (stats["calls"], stats["fixed_calls"], stats["fixed_bytes"]) == (6, 3, 16)


def test_random_numbers_are_new_in_each_replay_and_those_of_the_generator() -> None:
    mine = dougong.Generator()

    def draws(x: dougong.Tensor) -> tuple[dougong.Tensor, dougong.Tensor]:
        return F.dropout(x), F.dropout(x, generator=mine)

    results = []
    for function in (dougong.jit(draws), draws):
        dougong.manual_seed(7)
        mine.manual_seed(8)
        results.append([t.tolist() for _ in range(5) for t in function(dougong.ones((40,)))])
        mine.manual_seed(9)
        results[-1] += [t.tolist() for t in function(dougong.ones((40,)))]
    assert results[0] == results[1]
    assert results[0][0] != results[0][2] != results[0][4]


def test_numbers_that_are_drawn_again_in_the_call_are_drawn_again_in_replays() -> None:
    def twice(x: dougong.Tensor) -> tuple[dougong.Tensor, dougong.Tensor]:
        state = dougong.get_rng_state()
        first = F.dropout(x)
        dougong.set_rng_state(state)
        return first, F.dropout(x)

    jitted = dougong.jit(twice)
    pairs = [[t.tolist() for t in jitted(dougong.ones((40,)))] for _ in range(4)]
    assert all(a == b for a, b in pairs)
    assert pairs[2] != pairs[3]


# ---- What makes another capture ----------------------------------------------------------------------------------


def test_each_shape_dtype_and_number_has_a_capture_and_too_many_run_without_one() -> None:
    jitted = dougong.jit(lambda x, n: x + n, limit=3)
    kinds = [(dougong.ones((2,)), 1), (dougong.ones((3,)), 1), (dougong.ones((2,), dtype=dougong.float64), 1)]
    for x, n in kinds * 3:
        assert jitted(x, n).numpy().tolist() == (x.numpy() + n).tolist()
    assert len(jitted.captures) == 3
    with pytest.warns(RuntimeWarning, match="captured 3 times"):
        assert jitted(dougong.ones((2,)), 5).tolist() == [6.0, 6.0]
    assert jitted(*kinds[0]).tolist() == [2.0, 2.0]


def test_train_and_eval_have_captures_of_their_own() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    jitted, x = dougong.jit(model), dougong.ones((5, 4))
    with dougong.no_grad():
        for training in (True, False, True, False):
            model.train(training)
            for _ in range(3):
                dougong.manual_seed(2)
                found = jitted(x)
                dougong.manual_seed(2)
                assert np.array_equal(found.numpy(), model(x).numpy())
    assert len(jitted.captures) == 2


@pytest.mark.parametrize("change", ["replaced", "converted", "data", "option", "hook"])
def test_a_model_that_changed_is_captured_anew(change: str) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.1))
    jitted, x = dougong.jit(lambda x: model(x.to(dtype=model[0].weight.dtype))), dougong.ones((2, 4))
    kept = model[0].weight  # somebody else still holds the old one
    with dougong.no_grad():
        for _ in range(3):
            jitted(x)
        if change == "replaced":
            model[0].weight = nn.Parameter(kept * 2)
        elif change == "converted":
            model.double()
        elif change == "data":
            kept.data = kept.detach() * 3
        elif change == "option":
            model[1].negative_slope = 0.5
        else:
            model[1].register_forward_hook(lambda module, args, output: output + 1)
        found = jitted(x)
        wanted = model(x.to(dtype=model[0].weight.dtype))
        assert np.array_equal(found.numpy(), wanted.numpy())


def test_values_written_into_parameters_are_seen() -> None:
    model = nn.Linear(3, 2)
    jitted, x = dougong.jit(model), dougong.ones((1, 3))
    with dougong.no_grad():
        for value in (1.0, 2.0, 3.0, 4.0):
            model.weight.fill_(value)
            model.bias.zero_()
            assert jitted(x).tolist() == [[3 * value, 3 * value]]
    assert len(jitted.captures) == 1


def test_a_method_has_a_capture_for_each_object_until_it_is_reset() -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @dougong.jit
        def scaled(self, x: dougong.Tensor, sign: float = 1.0) -> dougong.Tensor:
            return x * self.factor * sign

    two, three = Scale(2.0), Scale(3.0)
    for i in range(4):
        x = dougong.full((2,), float(i))
        assert (two.scaled(x).tolist(), three.scaled(x).tolist()) == ([2.0 * i] * 2, [3.0 * i] * 2)
    assert len(Scale.scaled.captures) == 2
    signs = [np.signbit(two.scaled(dougong.zeros((1,)), sign=s).numpy()[0]) for s in (0.0, -0.0) * 3]
    assert signs == [False, True] * 3
    Scale.scaled.reset()
    assert not Scale.scaled.captures


def test_a_capture_within_a_capture_is_a_part_of_it() -> None:
    inner = dougong.jit(lambda x: x * 2)
    outer = dougong.jit(lambda x: inner(x) + 1)
    assert [outer(dougong.full((2,), float(i))).tolist() for i in range(4)] == [[2.0 * i + 1] * 2 for i in range(4)]
    assert not inner.captures


def test_a_profile_shows_a_replay_and_its_kernels(tmp_path: Path) -> None:
    jitted, x = dougong.jit(lambda x: F.gelu(x * 2) + 1), dougong.ones((3,))
    for _ in range(2):
        jitted(x)
    with dougong.profiler.profile() as prof:
        jitted(x)
    prof.export_chrome_trace(tmp_path / "trace.json")
    spans = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    (replay,) = [span for span in spans if span["name"] == "jit replay"]
    end = replay["ts"] + replay["dur"]
    inside = [s["name"] for s in spans if s["cat"] == "kernel" and replay["ts"] <= s["ts"] <= end]
    assert inside == ["mul", "gelu", "add"]


# ---- Other devices -----------------------------------------------------------------------------------------------

ON_SIM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_jit import Training, assert_same_training

jitted = Training(True, "sim:0")
assert_same_training(jitted, Training(False, "sim:0"), 6)
(stats,) = jitted.step.captures
assert jitted.runs == 2
assert (stats["calls"] > stats["kernels"]) == (len(sys.argv) > 2), stats
"""


@pytest.mark.parametrize("quirks", ["", "dense_only,handles,alignment=512"])
def test_a_device_with_streams_replays_with_and_without_help_of_the_host(run_python: Any, quirks: str) -> None:
    run_python(ON_SIM, Path(__file__).parent, *([quirks] if quirks else []), DOUGONG_SIM_QUIRKS=quirks)
