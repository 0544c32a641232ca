"""Training that is interrupted: the second half, in a process of its own.

`python -m dougong_conformance.train.resume KIND LIBRARY DEVICE CHECKPOINT RESULT`
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

from . import digits, networks, tasks, text

HALF = 10
DATA_SEED = 5


class Training:
    """A network, Adam and a schedule. ``next_losses(first, steps)`` takes those steps."""

    model: Any
    rate = 1e-2

    def __init__(self, dougong: Any, device: str, seed: int) -> None:
        self.dougong, self.device = dougong, device
        dougong.manual_seed(seed)
        self.build(dougong.nn)
        self.model.to(device)
        self.optimizer = dougong.optim.Adam(self.model.parameters(), lr=self.rate)
        self.schedule = dougong.optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.5)
        self.losses: list[float] = []

    def build(self, nn: Any) -> None:
        raise NotImplementedError

    def next_losses(self, first: int, steps: int) -> Iterator[float]:
        raise NotImplementedError

    def run(self, steps: int) -> None:
        """The next steps, on the batches that come after those already seen."""
        for loss in self.next_losses(len(self.losses), steps):
            self.losses.append(loss)
            self.schedule.step()

    def save(self, path: str) -> None:
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": self.dougong.get_rng_state(self.device),
            "losses": self.losses,
        }
        self.dougong.save(state, path)

    def load(self, path: str) -> None:
        state = self.dougong.load(path, device="cpu")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.dougong.set_rng_state(state["random"], self.device)
        self.losses = state["losses"]


class Digits(Training):
    """Dropout, a layer that is frozen and a parameter that gets no gradient."""

    def build(self, nn: Any) -> None:
        self.model = nn.ModuleDict({"frozen": nn.Linear(64, 48), "hidden": nn.Linear(48, 32), "out": nn.Linear(32, 10)})
        self.model["frozen"].requires_grad_(False)
        self.model["hidden"].unused = nn.Parameter(self.dougong.ones(3))
        self.dropout = nn.Dropout(0.5)

    def __call__(self, rows: Any) -> Any:
        features = self.model["frozen"](rows).relu()
        return self.model["out"](self.dropout(self.model["hidden"](features).relu()))

    def next_losses(self, first: int, steps: int) -> Iterator[float]:
        batches = itertools.islice(digits.load().batches(2, DATA_SEED), first, first + steps)
        return networks.train(self.dougong, self, self.optimizer, batches, self.device)


class Gpt(Training):
    """Dropout in attention, between blocks and within them."""

    rate = 5e-3

    def build(self, nn: Any) -> None:
        self.model = tasks.read_gpt(nn, dropout=0.2)

    def next_losses(self, first: int, steps: int) -> Iterator[float]:
        for codes, targets in itertools.islice(text.load().batches(DATA_SEED), first, first + steps):
            self.optimizer.zero_grad()
            logits = self.model(self.dougong.tensor(codes, device=self.device))
            wanted = self.dougong.tensor(targets.ravel(), device=self.device)
            loss = self.dougong.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), wanted)
            loss.backward()
            self.optimizer.step()
            yield loss.item()


KINDS = {"digits": Digits, "gpt": Gpt}


def main() -> None:
    import dougong

    kind, library, device, checkpoint, result = sys.argv[1:]
    dougong.load_plugin(library)
    training = KINDS[kind](dougong, device, seed=99)
    training.load(checkpoint)
    training.run(HALF)
    training.save(result)


if __name__ == "__main__":
    main()
