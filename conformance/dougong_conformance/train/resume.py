"""Training that is interrupted: the second half, in a process of its own.

`python -m dougong_conformance.train.resume LIBRARY DEVICE CHECKPOINT RESULT`
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from . import digits, networks

HALF = 10
DATA_SEED = 5


class Training:
    """A network with dropout, a layer that is frozen and a parameter that gets no gradient; Adam and a schedule."""

    def __init__(self, dougong: Any, device: str, seed: int) -> None:
        self.dougong, self.device = dougong, device
        dougong.manual_seed(seed)
        nn, optim = dougong.nn, dougong.optim
        self.model = nn.ModuleDict({"frozen": nn.Linear(64, 48), "hidden": nn.Linear(48, 32), "out": nn.Linear(32, 10)})
        self.model["frozen"].requires_grad_(False)
        self.model["hidden"].unused = nn.Parameter(dougong.ones(3))
        self.model.to(device)
        self.dropout = nn.Dropout(0.5)
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.5)
        self.losses: list[float] = []

    def __call__(self, rows: Any) -> Any:
        features = self.model["frozen"](rows).relu()
        return self.model["out"](self.dropout(self.model["hidden"](features).relu()))

    def run(self, steps: int) -> None:
        """The next steps, on the batches that come after those already seen."""
        first = len(self.losses)
        batches = itertools.islice(digits.load().batches(2, DATA_SEED), first, first + steps)
        for loss in networks.train(self.dougong, self, self.optimizer, batches, self.device):
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


def main() -> None:
    import dougong

    library, device, checkpoint, result = sys.argv[1:]
    dougong.load_plugin(library)
    training = Training(dougong, device, seed=99)
    training.load(checkpoint)
    training.run(HALF)
    training.save(result)


if __name__ == "__main__":
    main()
