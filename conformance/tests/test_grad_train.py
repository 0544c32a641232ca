"""The levels grad and train let good devices pass and catch planted faults; their references are right themselves."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dougong_conformance import case, gradients, questions
from dougong_conformance.case import Context, Fail
from dougong_conformance.gradients import Gradients
from dougong_conformance.resolve import resolve
from dougong_conformance.session import Session
from dougong_conformance.subjects import Subject, values
from dougong_conformance.subjects import subjects as subjects_of
from dougong_conformance.suites import grad
from dougong_conformance.suites.training import by_hand, whole
from dougong_conformance.train import digits, networks, reference, resume


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(str(resolve("cpu:0", None).library), "cpu")


@functools.cache
def grad_cases() -> dict[str, case.Case]:
    return {c.id: c for c in grad.cases(Context())}


def fails(function: Callable[..., None], *arguments: Any) -> str:
    """The message of a case that must fail, or an empty text."""
    try:
        function(*arguments)
    except Fail as fail:
        return fail.message
    return ""


# -- what is asked -------------------------------------------------------------------------------------------------


def ops_with_gradients() -> list[str]:
    names = questions.kernels().op_names()
    return [name for name in names if questions.kernels().load(name).differentiable]


@pytest.mark.parametrize("name", ops_with_gradients())
def test_each_gradient_is_asked_for_as_a_formula_and_on_the_device(name):
    asked = [case_id.split("/")[2] for case_id in grad_cases() if case_id.startswith(f"grad/{name}/")]
    assert "formula" in asked
    assert "device" in asked


@pytest.mark.parametrize("name", questions.kernels().op_names())
def test_each_op_is_asked_what_happens_without_a_kernel(name):
    assert f"grad/{name}/forward" in grad_cases()


def formula_subjects() -> list[Subject]:
    found = [s for name in ops_with_gradients() for s in subjects_of(name)]
    return [s for s in found if f"grad/{s.op}/formula/{s.case}" in grad_cases()]


def test_values_keep_away_from_kinks():
    """No two values are nearer than two steps of the differences each way, nor is one that near to zero, nor are two
    magnitudes of an op of one input. Inputs that have a domain of their own are not compared with others by any op."""
    subjects = formula_subjects()
    assert len(subjects) > 100
    for subject in subjects:
        inputs = [x.ravel() for x in values(subject)[0] if x is not None and x.dtype.kind == "f"]
        apart = bool(questions.kernels().load(subject.op).domain)
        for numbers in inputs if apart else [np.concatenate(inputs)]:
            magnitudes = [] if apart or len(inputs) > 1 else np.diff(np.sort(np.abs(numbers)))
            gaps = np.append(np.diff(np.sort(np.append(numbers, 0))), magnitudes)
            assert gaps.min(initial=1) >= 4 * gradients.STEP, subject


def test_values_are_the_same_in_float32():
    for subject in formula_subjects():
        for x in values(subject)[0]:
            assert x is None or x.dtype.kind != "f" or np.array_equal(x, x.astype(np.float32))


# -- planted faults ------------------------------------------------------------------------------------------------

FLAT = {"sign", "floor", "ceil", "trunc", "round", "floor_divide"}  # their gradients are zero everywhere
FAULTS = {
    "scaled": lambda g: g * (1 + 1e-4),
    "negated": lambda g: -g,
    "last element lost": lambda g: np.concatenate([g.ravel()[:-1], [0]]).reshape(g.shape),
    "halved": lambda g: g / 2,
}


@pytest.fixture
def fault(monkeypatch):
    """Changes each gradient that comes from the runtime on these terms."""
    true = Gradients.by_runtime

    def plant(change: Callable[[np.ndarray], np.ndarray], applies: Callable[..., bool]) -> None:
        def changed(self, device, inputs, directions, layout="dense"):
            found = true(self, device, inputs, directions, layout)
            wanted = applies(device, inputs, layout)
            return [np.asarray(change(g), g.dtype) if wanted and g.size and np.any(g) else g for g in found]

        monkeypatch.setattr(Gradients, "by_runtime", changed)

    return plant


def has_gradient(session: Session, subject: Subject) -> bool:
    asked = Gradients(session.load_runtime(), subject)
    found = asked.by_runtime("cpu:0", asked.inputs, asked.directions(np.float64))
    return any(abs(g.ravel()[-1]) > 0.01 for g in found if g.size)


@functools.cache
def faultable(session: Session) -> list[Subject]:
    """One subject of each op whose gradient is not zero everywhere, nor in its last element."""
    found = {}
    for subject in formula_subjects():
        if subject.op not in found and has_gradient(session, subject):
            found[subject.op] = subject
    return list(found.values())


@pytest.mark.parametrize("name", FAULTS)
def test_wrong_formula_is_caught_for_every_op(session, fault, name):
    subjects = faultable(session)
    assert {subject.op for subject in subjects} >= set(ops_with_gradients()) - FLAT
    assert not any(fails(grad.formula, subject, session) for subject in subjects)
    fault(FAULTS[name], lambda device, inputs, layout: True)
    survivors = [subject.op for subject in subjects if not fails(grad.formula, subject, session)]
    assert survivors == []


DEVICE_FAULTS = {
    "rounded to bfloat16": lambda g: g.astype(ml_dtypes.bfloat16).astype(np.float32),
    "scaled": lambda g: g * np.float32(1 + 1e-4),
    "last element lost": FAULTS["last element lost"],
    "not a number": lambda g: g * np.nan,
}


@pytest.mark.parametrize("name", DEVICE_FAULTS)
@pytest.mark.parametrize("layout", gradients.LAYOUTS)
def test_wrong_gradient_of_a_device_is_caught_in_every_layout(session, host, fault, name, layout):
    device = Session(str(host), "host")
    device.load_runtime()
    subjects = [s for s in faultable(session) if not _exact_in_bfloat16(session, s, layout)]
    assert not any(fails(grad.on_device, subject, device) for subject in subjects)
    fault(DEVICE_FAULTS[name], lambda place, inputs, used: used == layout and place == "host:0")
    survivors = [subject.op for subject in subjects if not fails(grad.on_device, subject, device)]
    assert survivors == []
    assert len(subjects) > 15


def _exact_in_bfloat16(session: Session, subject: Subject, layout: str) -> bool:
    """Gradients such as 1 or 0 survive rounding, and where their last is 0 nothing is lost with it; nor with one that
    is cancelled away, such as that of a softmax when all outputs have the same."""
    references, _ = gradients._expected(subject, layout == "summed", session.load_runtime())
    last = [r.ravel()[-1] for r in references if r.size]
    return all(abs(x) < 1e-12 or x == np.float64(np.float32(x).astype(ml_dtypes.bfloat16)) for x in last)


def test_kinks_are_exact(session):
    kink = {"op": "relu", "inputs": [[0.0, 1.0]], "dy": [1.0, 1.0], "gradients": [[0.0, 1.0]]}
    grad.at_kink(kink, session)
    message = fails(grad.at_kink, {**kink, "gradients": [[0.5, 1.0]]}, session)
    assert "the gradient is [0.0, 1.0], wanted [0.5, 1.0]" in message


def test_memory_alone_passes_and_what_the_host_did_is_counted(host, judge):
    judged = judge(host, "--case", "grad/matmul/*", "--case", "grad/relu/*", "--case", "grad/sgd/forward")
    assert judged.code == 0, judged.output
    assert judged.report["fallbacks"]["matmul"] > 10
    assert judged.report["fallbacks"]["sgd"] == 1


# -- the references of level train -----------------------------------------------------------------------------------


def test_held_out_digits_are_apart_and_batches_follow_the_seed():
    data = digits.load()
    assert (len(data.labels), len(data.held_out_labels)) == (1437, 360)
    assert data.images.min() == 0
    assert data.images.max() == 1
    first, again, other = (next(data.batches(1, seed))[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(list(data.batches(2, 0))) == 2 * (1437 // 64)


@pytest.mark.parametrize("name", reference.NETWORKS)
def test_reference_gradients_are_those_of_differences(name):
    network, rng = reference.NETWORKS[name](), np.random.default_rng(0)
    p = {key: value.astype(np.float64) for key, value in reference.initial(network, 0).items()}
    images, labels = next(digits.load().batches(1, 0))
    _, found = reference.loss_and_gradients(network, p, images, labels)
    for key in p:
        direction = rng.choice([-1.0, 1.0], p[key].shape) * 1e-6
        sides = [
            reference.loss_and_gradients(network, {**p, key: p[key] + sign * direction}, images, labels)[0]
            for sign in (1, -1)
        ]
        assert np.isclose((sides[0] - sides[1]) / 2, (found[key] * direction).sum(), rtol=1e-4, atol=1e-13)


def test_reference_adam_moves_by_the_rate_when_the_gradient_is_constant():
    adam, p = reference.Adam(0.1, epsilon=0), {"x": np.ones(1)}
    for _ in range(3):
        adam.step(p, {"x": np.array([0.5])})
    assert np.isclose(p["x"][0], 0.7)


# -- planted faults in training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", reference.NETWORKS)
def test_good_training_passes(session, name):
    for ask in (by_hand.one_step, by_hand.curve, by_hand.repeats):
        ask(name, session)


def with_optimizer(monkeypatch, change: Callable[[Any], None]) -> None:
    """Changes the optimizer of each run before it begins."""
    true = by_hand.Run.__init__

    def changed(self, session, network):
        true(self, session, network)
        change(self)

    monkeypatch.setattr(by_hand.Run, "__init__", changed)


def slightly_other_rate(run) -> None:
    run.optimizer.param_groups[0]["lr"] *= 1.001


def wrong_bias_correction(run) -> None:
    true = run.optimizer._update

    def update(parameter, gradient, group):
        run.optimizer.state.setdefault(parameter, {}).setdefault("step", 1)
        true(parameter, gradient, group)

    run.optimizer._update = update


def forgotten_parameter(run) -> None:
    run.optimizer.param_groups[0]["params"].pop()


def truncated_gradients(run) -> None:
    true = run.optimizer._update

    def update(parameter, gradient, group):
        true(parameter, gradient.bfloat16().float(), group)

    run.optimizer._update = update


TRAINING_FAULTS = [slightly_other_rate, wrong_bias_correction, forgotten_parameter, truncated_gradients]


@pytest.mark.parametrize("change", TRAINING_FAULTS)
@pytest.mark.parametrize("name", reference.NETWORKS)
def test_wrong_step_is_caught_at_once_and_in_the_curve(session, monkeypatch, name, change):
    with_optimizer(monkeypatch, change)
    assert "parameter" in fails(by_hand.one_step, name, session) or "change" in fails(by_hand.one_step, name, session)
    assert "float64 run" in fails(by_hand.curve, name, session)


def test_network_that_does_not_learn_fails(session, monkeypatch):
    with_optimizer(monkeypatch, lambda run: run.optimizer.param_groups[0].update(lr=1e-6))
    assert "accuracy" in fails(by_hand.learns, "mlp", session)


def test_loss_that_is_not_finite_fails(session, monkeypatch):
    monkeypatch.setattr(networks, "train", lambda *_: itertools.repeat(float("nan")))
    assert "nan" in fails(by_hand.curve, "mlp", session)


def test_run_that_does_not_repeat_fails(session, monkeypatch):
    count = itertools.count()
    with_optimizer(monkeypatch, lambda run: run.optimizer.param_groups[0].update(lr=1e-3 * (1 + 1e-7 * next(count))))
    assert "other bits" in fails(by_hand.repeats, "mlp", session)


LOSSES_OF_STATE = {
    "random": lambda state: (state["random"][0], state["random"][1] + 1),
    "optimizer": lambda state: {**state["optimizer"], "state": {}},
    "schedule": lambda state: {**state["schedule"], "last_epoch": 0},
}


@pytest.mark.parametrize(
    ("kind", "part"), [*(("digits", part) for part in (None, *LOSSES_OF_STATE)), ("gpt", "random")]
)
def test_checkpoint_that_misses_a_part_is_caught(session, monkeypatch, kind, part):
    """Whatever part of the state is lost between two processes, the second half differs."""
    dougong, saves = session.load_runtime(), itertools.count()
    true = dougong.save

    def forgetful(state, path):
        first = next(saves) == 0
        true({**state, part: LOSSES_OF_STATE[part](state)} if first and part else state, path)

    monkeypatch.setattr(dougong, "save", forgetful)
    message = fails(whole.resumed, kind, session)
    assert ("bit-equal" in message) == (part is not None), message


def test_resume_program_that_dies_is_a_failure_with_its_output(session, monkeypatch):
    monkeypatch.setattr(resume.Training, "save", lambda self, path: open(path, "wb").close())
    assert "ended with code 1" in fails(whole.resumed, "digits", session)


def test_exhausted_memory_must_name_the_numbers(session, monkeypatch):
    dougong = session.load_runtime()
    whole.exhausted(session)

    def silent(*shape, **_):
        raise dougong.OutOfMemoryError("out of memory")

    monkeypatch.setattr(dougong, "empty", silent)
    assert "must name" in fails(whole.exhausted, session)
