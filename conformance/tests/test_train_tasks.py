"""The tasks of level train: what they are made of is right, and a device that trains them wrongly fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dougong_conformance.case import Context, Fail
from dougong_conformance.resolve import resolve
from dougong_conformance.session import Session
from dougong_conformance.suites import train
from dougong_conformance.suites.training import learned, precision, recompute
from dougong_conformance.train import half, tasks, text
from dougong_conformance.train.tasks import GPT, LSTM, RESNET, Run


@pytest.fixture
def session() -> Session:
    session = Session(str(resolve("cpu:0", None).library), "cpu")
    session.load_runtime()
    return session


def fails(function: Callable[..., None], *arguments: Any) -> str:
    """The message of a case that must fail, or an empty text."""
    try:
        function(*arguments)
    except Fail as fail:
        return fail.message
    return ""


def test_every_case_of_the_level_has_rules_and_a_summary():
    cases = list(train.cases(Context()))
    assert len({c.id for c in cases}) == len(cases) > 15
    assert [c.id for c in cases if not c.rules or not c.summary or not c.id.startswith("train/")] == []


# -- the text --------------------------------------------------------------------------------------------------------


def test_the_vocabulary_is_what_occurs_in_the_text():
    read = text.load()
    assert len(read.codes) > 100_000
    assert set(read.codes) == set(range(len(read.vocabulary)))
    words = "".join(read.vocabulary[code] for code in read.codes)
    assert "statement" in words and "assignment" in words


def test_each_target_is_the_character_after():
    inputs, targets = next(text.load().batches(0))
    assert inputs.shape == targets.shape == (text.BATCH, text.LENGTH)
    assert np.array_equal(inputs[:, 1:], targets[:, :-1])
    assert not np.array_equal(inputs, next(text.load().batches(1))[0])


def test_entropies_are_those_of_the_definition():
    alternating = text.Text(np.array([0, 1, 0, 1, 0, 1, 0]), "ab")
    assert np.isclose(alternating.entropy, np.log(2))
    assert np.isclose(alternating.entropy_after_one, 0)
    assert 2 < text.load().entropy_after_one < text.load().entropy < 4


# -- planted faults --------------------------------------------------------------------------------------------------


def short(task: tasks.Task, steps: int) -> tasks.Task:
    return dataclasses.replace(task, steps=steps)


def with_run(monkeypatch, change: Callable[[Run], None]) -> None:
    """Changes each run on the terms of the change, before it begins."""
    true = Run.__init__

    def changed(self, task, dougong, device, dtype="float32"):
        true(self, task, dougong, device, dtype)
        if dtype == "float32":
            change(self)

    monkeypatch.setattr(Run, "__init__", changed)


def slightly_other_rate(run: Run) -> None:
    run.optimizer.param_groups[0]["lr"] *= 1.001


def forgotten_parameter(run: Run) -> None:
    run.optimizer.param_groups[0]["params"].pop()


def gradients_in_half(run: Run) -> None:
    true = run.optimizer.step

    def step() -> None:
        for part in run.model.parameters():
            part.grad = part.grad.bfloat16().float()
        true()

    run.optimizer.step = step


@pytest.mark.parametrize("change", [slightly_other_rate, forgotten_parameter, gradients_in_half])
@pytest.mark.parametrize("task", learned.TASKS, ids=lambda task: task.name)
def test_wrong_step_shows_in_the_curve(session, monkeypatch, task, change):
    with_run(monkeypatch, change)
    assert "further apart" in fails(learned.curve, task, session)


@pytest.mark.parametrize("task", learned.TASKS, ids=lambda task: task.name)
def test_right_steps_keep_the_curve(session, task):
    assert fails(learned.curve, task, session) == ""
    assert "largest relative distance" in session.notes[0]


@pytest.mark.parametrize(("task", "word"), [(GPT, "who knows the character before"), (LSTM, "held-out accuracy")])
def test_network_that_does_not_learn_fails(session, task, word):
    lazy = dataclasses.replace(task, rate=1e-6, steps=5)
    assert word in fails(learned.learns, lazy, session)


def test_statistics_that_are_not_kept_fail(session, monkeypatch):
    """In training a batch norm has those of its batch, so that only the held-out digits show it."""

    def forgetful(run: Run) -> None:
        for module in run.model.modules():
            if isinstance(module, run.dougong.nn.BatchNorm2d):
                module.momentum = 0.0

    with_run(monkeypatch, forgetful)
    assert "held-out accuracy" in fails(learned.learns, dataclasses.replace(RESNET, steps=30), session)


def test_gpt_that_looks_ahead_fails(session, monkeypatch):
    """Its loss falls below every entropy, for it copies what it should foretell."""
    true, flip = tasks.models.gpt, session.load_runtime().flip

    def looking_ahead(nn, *arguments, **options):
        return true(nn, *arguments, around=lambda block, x: flip(block(flip(x, 1)), 1), **options)

    assert fails(learned.looks_back_only, session) == ""
    monkeypatch.setattr(tasks.models, "gpt", looking_ahead)
    assert "change what is said of positions before" in fails(learned.looks_back_only, session)


def test_short_run_is_for_devices_whose_products_the_host_computes(session, host):
    task = dataclasses.replace(LSTM, steps=4, short=2, learned=lambda run: "")
    for name, wanted in (("cpu:0", 4), ("host:0", 2)):
        library = resolve("cpu:0", None).library if name == "cpu:0" else host
        run = Run(task, Session(str(library), name[:-2]).load_runtime(), name)
        assert len(run.train_to_the_end()) == wanted


# -- half precision --------------------------------------------------------------------------------------------------


def test_overflow_is_skipped_and_the_scale_recovers(session):
    precision.overflow(session)
    assert "steps were skipped" in session.notes[0]


def test_step_that_is_taken_in_spite_of_an_overflow_fails(session, monkeypatch):
    true = half.HalfRun.step

    def heedless(self, loss):
        found = true(self, loss)
        if self.skipped:
            for part in self.model.parameters():
                part.grad = part.detach() * 0 + 1
            self.optimizer.step()
        return found

    monkeypatch.setattr(half.HalfRun, "step", heedless)
    assert "changed parameters" in fails(precision.overflow, session)


def test_half_that_is_not_the_loss_of_float32_fails(session, monkeypatch):
    monkeypatch.setattr(precision, "GPT", short(GPT, 25))
    true = half.HalfRun.loss
    monkeypatch.setattr(half.HalfRun, "loss", lambda self, *batch: true(self, *batch) * 1.01)
    assert "away from float32" in fails(precision.mixed, "bfloat16", session)


# -- recompute -------------------------------------------------------------------------------------------------------


def test_recompute_is_bit_equal(session):
    recompute.recomputed(session)


def test_recompute_with_other_random_numbers_fails(session, monkeypatch):
    dougong = session.load_runtime()
    true = dougong.checkpoint.checkpoint
    forgetful = lambda function, x: true(function, x, preserve_rng_state=False)  # noqa: E731 - it stands for a function
    monkeypatch.setattr(dougong.checkpoint, "checkpoint", forgetful)
    assert "with recompute" in fails(recompute.recomputed, session)


def test_recompute_that_keeps_everything_fails(session, monkeypatch):
    monkeypatch.setattr(session.load_runtime().checkpoint, "checkpoint", lambda function, x: function(x))
    assert "wanted twice as many" in fails(recompute.recomputed, session)
