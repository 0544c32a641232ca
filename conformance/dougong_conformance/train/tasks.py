"""Tasks that a device learns: a network, its batches, and what it must have learned after a number of steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..case import Fail
from . import digits, models, networks, text

SEED = 0
ACCURACY = 0.96
LAST = 20  # steps whose mean loss is the loss at the end

Batches = Iterator[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Task:
    """``learned(run)`` raises Fail if the network has not, and else says how well it has.

    ``steps`` are for a device that computes; a device whose matrix products the host computes takes ``short`` ones, of
    which nothing is wanted but that they lead the right way.
    """

    name: str
    build: Callable[[Any], Any]
    batches: Callable[[], Batches]
    rate: float
    steps: int
    short: int
    learned: Callable[[Run], str]


class Run:
    """A network on a device in one dtype. It begins with the same float32 numbers wherever it is."""

    def __init__(self, task: Task, dougong: Any, device: str, dtype: str = "float32") -> None:
        self.task, self.dougong, self.device = task, dougong, device
        self.dtype = getattr(dougong, dtype)
        dougong.manual_seed(SEED)
        self.model = task.build(dougong.nn).to(device, self.dtype)
        self.optimizer = dougong.optim.Adam(self.model.parameters(), lr=task.rate)
        self.batches, self.found, self.short = task.batches(), [], False

    def train(self, steps: int) -> list[float]:
        """Takes so many more steps; the losses of all."""
        for inputs, targets in itertools.islice(self.batches, steps):
            self.optimizer.zero_grad()
            loss = self.loss(self.tensor(inputs), self.tensor(targets))
            self.found.append(self.step(loss))
        return self.found

    def loss(self, inputs: Any, targets: Any) -> Any:
        logits = self.model(inputs)
        return self.dougong.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    def step(self, loss: Any) -> float:
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def tensor(self, x: np.ndarray) -> Any:
        return self.dougong.tensor(x, dtype=self.dtype if x.dtype.kind == "f" else None, device=self.device)

    def train_to_the_end(self) -> list[float]:
        """All steps of the task, or the short run where the host computes matrix products in the device's place."""
        before = self.dougong.fallbacks(self.device).get("matmul", 0)
        self.train(1)
        self.short = self.dougong.fallbacks(self.device).get("matmul", 0) > before
        return self.train((self.task.short if self.short else self.task.steps) - 1)

    @property
    def last(self) -> float:
        return float(np.mean(self.found[-LAST:]))


# -- what must be learned ------------------------------------------------------------------------------------------


def _reads(run: Run) -> str:
    """The bound is an entropy of the text: who knows a character's share alone, or the character before it alone, has
    no lower loss. The mean of a float64 run on the host goes below the first after 24 steps and below the second after
    193. After 60 steps it is 2.75, 0.5 below the first; after 300 at 2.28, 0.17 below the second."""
    bound = text.load().entropy if run.short else text.load().entropy_after_one
    known = "how often each character comes" if run.short else "the character before"
    if not run.last < bound:
        raise Fail(f"the loss after {len(run.found)} steps is {run.last:.4f}; who knows {known} alone has {bound:.4f}")
    return f"loss {run.last:.4f} after {len(run.found)} steps, below {bound:.4f}, the entropy given {known}"


def _tells_digits(run: Run) -> str:
    data = digits.load()
    run.model.eval()
    reached = networks.accuracy(run.dougong, run.model, data.held_out_images, data.held_out_labels, run.device)
    run.model.train()
    wanted = 0.5 if run.short else ACCURACY
    if not reached >= wanted:
        raise Fail(f"the held-out accuracy after {len(run.found)} steps is {reached:.4f}; wanted at least {wanted}")
    return f"held-out accuracy {reached:.4f} after {len(run.found)} steps, last loss {run.found[-1]:.4f}"


def _digits() -> Batches:
    return digits.load().batches(1000, SEED)


def read_gpt(nn: Any, **options: Any) -> Any:
    return models.gpt(nn, len(text.load().vocabulary), text.LENGTH, **options)


GPT = Task("gpt", read_gpt, lambda: text.load().batches(SEED), 5e-3, 300, 60, _reads)
LSTM = Task("lstm", lambda nn: models.rows(nn, 10), _digits, 1e-2, 400, 100, _tells_digits)
RESNET = Task("resnet", lambda nn: models.resnet(nn, 10), _digits, 1e-2, 120, 40, _tells_digits)
