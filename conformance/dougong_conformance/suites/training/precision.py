"""Training in half precision: parameters in float32, products in bfloat16, or in float16 with a scaled loss."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ...case import Case, Context, Fail
from ...session import Session
from ...train import half, networks
from ...train.tasks import GPT, Run
from .common import case

FIRST = 20
SCALE = {"bfloat16": 1.0, "float16": 2.0**12}
# Of the loss of the first steps, relative, against a run in float32: the unit roundoff of the dtype, which the error of
# no single product exceeds, and of which those of many cancel.
DRIFT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def cases(context: Context) -> Iterator[Case]:
    for dtype in DRIFT:
        yield case(f"gpt/{dtype}", ("RUN-013",), functools.partial(mixed, dtype), mixed)
    yield case("gpt/float16-overflow", ("RUN-013",), overflow)


def mixed(dtype: str, session: Session) -> None:
    """A GPT learns as in float32: the first losses are within the roundoff of the dtype, and the last is below the
    entropy of the text."""
    dougong, device = session.load_runtime(), session.device_string
    run = half.HalfRun(GPT, dougong, device, dtype, SCALE[dtype])
    wanted = np.array(Run(GPT, dougong, device).train(FIRST))
    found = np.array(run.train_to_the_end())
    drift = float(np.max(np.abs(found[:FIRST] - wanted) / wanted))
    session.note(f"largest relative distance of the first {FIRST} losses from float32: {drift:.2g}")
    if not drift <= DRIFT[dtype]:
        raise Fail(
            f"the first {FIRST} losses are {drift:.2g} away from float32, relative; wanted at most {DRIFT[dtype]:.2g}"
        )
    session.note(f"{GPT.learned(run)}; scale {run.scale:g}, {run.skipped} steps skipped")


def overflow(session: Session) -> None:
    """A loss that is scaled too much makes gradients overflow: those steps change no parameter, and the scale halves
    until they are finite."""
    run = half.HalfRun(GPT, session.load_runtime(), session.device_string, "float16", 2.0**24)
    before = networks.parameters(run.model)
    run.train(1)
    if run.skipped != 1:
        raise Fail("a loss times 2^24 gives finite gradients in float16, whose greatest number is 65504")
    same = all(np.array_equal(before[name], part) for name, part in networks.parameters(run.model).items())
    if not same:
        raise Fail("a step with gradients that are not finite changed parameters")
    run.train(19)
    session.note(f"{run.skipped} steps were skipped until the scale was {run.scale:g}")
    moved = networks.parameters(run.model)
    if not 1 < run.skipped < 20 or not all(np.all(np.isfinite(part)) for part in moved.values()):
        raise Fail(f"{run.skipped} of 20 steps were skipped, and the scale is {run.scale:g}")
