"""A GPT that reads a text, an LSTM and a residual network: they follow a float64 run of the host, and learn."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ...case import Case, Context, Fail
from ...session import Session
from ...train import text
from ...train.tasks import GPT, LSTM, RESNET, Run, Task
from .common import case

TASKS = (GPT, LSTM, RESNET)
DRIFT = 3e-6  # relative, of float32 against float64: some thirty times what good float32 runs show
DRIFT_STEPS = 30


def cases(context: Context) -> Iterator[Case]:
    for task in TASKS:
        yield case(f"{task.name}/curve", ("RUN-005",), functools.partial(curve, task), curve)
        yield case(f"{task.name}/learns", ("RUN-003",), functools.partial(learns, task), learns)
    yield case("gpt/looks-back-only", ("RUN-003",), looks_back_only)


def curve(task: Task, session: Session) -> None:
    """The losses of the first thirty steps stay within 3e-6 of a run in float64 on the host, of the same numbers."""
    dougong = session.load_runtime()
    found = np.array(Run(task, dougong, session.device_string).train(DRIFT_STEPS))
    wanted = _reference(task, dougong)
    drift = np.abs(found - wanted) / wanted
    worst = int(np.argmax(np.where(np.isnan(drift), np.inf, drift)))
    session.note(f"largest relative distance of the loss from float64: {drift[worst]:.2g} at step {worst}")
    if not np.all(drift <= DRIFT):
        first = int(np.argmax(~(drift <= DRIFT)))
        raise Fail(
            f"the loss of step {first} is {float(found[first])!r}, of a float64 run of the host "
            f"{float(wanted[first])!r}: further apart than {DRIFT:g} relative"
        )


@functools.lru_cache(maxsize=8)
def _reference(task: Task, dougong: object) -> np.ndarray:
    return np.array(Run(task, dougong, "cpu:0", "float64").train(DRIFT_STEPS))


def learns(task: Task, session: Session) -> None:
    """The network learns what its task wants: the text to below an entropy of it, or the digits it has not seen."""
    run = Run(task, session.load_runtime(), session.device_string)
    run.train_to_the_end()
    session.note(task.learned(run))


def looks_back_only(session: Session) -> None:
    """What the GPT says of a character depends on those before it, bit for bit on nothing after it."""
    run = Run(GPT, session.load_runtime(), session.device_string)
    run.train(3)
    codes = next(text.load().batches(1))[0]
    other, middle = codes.copy(), codes.shape[1] // 2
    other[:, middle:] = (other[:, middle:] + 1) % len(text.load().vocabulary)
    with run.dougong.no_grad():
        first, second = (run.model(run.tensor(x)).cpu().numpy() for x in (codes, other))
    if not np.array_equal(first[:, :middle], second[:, :middle]):
        raise Fail(f"other characters from position {middle} on change what is said of positions before")
    if np.any(np.all(first[:, middle:] == second[:, middle:], axis=-1)):
        raise Fail(f"other characters from position {middle} on do not change what is said there")
