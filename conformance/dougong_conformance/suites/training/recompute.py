"""Activations that are made again by the backward pass: the same numbers as those that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...case import Case, Context, Fail
from ...session import Session
from ...train.tasks import GPT, Run, Task, read_gpt
from .common import case, require_determinism

STEPS = 3


def cases(context: Context) -> Iterator[Case]:
    yield case("recompute", ("RUN-012",), recomputed)


class Calls:
    """Counts how often blocks are called, with or without recompute."""

    def __init__(self, checkpoint: Any = None) -> None:
        self.count, self.checkpoint = 0, checkpoint

    def __call__(self, block: Any, x: Any) -> Any:
        def counted(y: Any) -> Any:
            self.count += 1
            return block(y)

        return counted(x) if self.checkpoint is None else self.checkpoint(counted, x)


def recomputed(session: Session) -> None:
    """Losses and gradients of a GPT with dropout whose blocks are recomputed are bit-equal to those of one whose blocks
    are not."""
    require_determinism(session)
    dougong = session.load_runtime()
    kept, again = Calls(), Calls(dougong.checkpoint.checkpoint)
    (losses, gradients), (losses_again, gradients_again) = (_steps(session, calls) for calls in (kept, again))
    session.note(f"losses {losses}; blocks were called {kept.count} times, with recompute {again.count} times")
    if again.count != 2 * kept.count:
        raise Fail(f"{kept.count} calls of blocks were {again.count} with recompute; wanted twice as many")
    if losses != losses_again:
        raise Fail(f"the losses are {losses_again} with recompute, and {losses} without")
    for name, gradient in gradients.items():
        if gradient.tobytes() != gradients_again[name].tobytes():
            raise Fail(f"the gradient of {name} has other bits with recompute")


def _steps(session: Session, calls: Calls) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses, and the gradients of the last step."""

    def build(nn: Any) -> Any:
        return read_gpt(nn, layers=2, dropout=0.1, around=calls)

    task = Task("gpt", build, GPT.batches, GPT.rate, STEPS, STEPS, GPT.learned)
    run = Run(task, session.load_runtime(), session.device_string)
    losses = list(run.train(STEPS))
    return losses, {name: part.grad.cpu().numpy() for name, part in run.model.named_parameters()}
