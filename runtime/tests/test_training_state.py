"""A run that is saved and loaded goes on, bit for bit, as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import dougong
import numpy as np
import pytest
from dougong import nn, optim
from dougong.data import DataLoader, TensorDataset
from dougong.nn import functional as F


class Run:
    """A small training run: shuffled batches, dropout, noise of Python and NumPy, a learning rate that changes."""

    def __init__(self, seed: int, device: str) -> None:
        dougong.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        self.device = device
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1)).to(device)
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.05)
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.generator = dougong.Generator().manual_seed(seed)
        x = dougong.tensor(np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32))
        self.loader = DataLoader(TensorDataset(x, x.sum(1, True)), 4, shuffle=True, generator=self.generator)
        self.losses: list[float] = []

    def parts(self) -> dict[str, Any]:
        names = ("model", "optimizer", "scheduler", "generator")
        return {name: getattr(self, name) for name in names}

    def train(self, epochs: int) -> None:
        for _ in range(epochs):
            for x, y in self.loader:
                noise = random.random() * 0.1 + float(np.random.rand()) * 0.1
                loss = F.mse_loss(self.model(x.to(self.device) + noise), y.to(self.device))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.losses.append(loss.item())
            self.scheduler.step()

    def values(self) -> Any:
        return [p.tolist() for p in self.model.parameters()], self.scheduler.get_last_lr()


@pytest.mark.parametrize("device", ["cpu:0", "sim:0"])
def test_a_resumed_run_is_the_same_bit_for_bit(tmp_path: Path, device: str):
    straight = Run(1, device)
    straight.train(4)
    first = Run(1, device)
    first.train(2)
    dougong.save_training(tmp_path / "run.safetensors", epoch=2, **first.parts())
    second = Run(99, device)
    second.train(1)
    values = dougong.load_training(tmp_path / "run.safetensors", **second.parts())
    assert values == {"epoch": 2}
    second.losses.clear()
    second.train(2)
    assert second.losses == straight.losses[6:] and second.values() == straight.values()


def test_random_numbers_of_devices_that_come_later_are_those_of_the_saved_run(tmp_path: Path):
    dougong.manual_seed(7)
    dougong.save_training(tmp_path / "run.safetensors")
    wanted = dougong.rand(3, device="sim:1").tolist(), random.random(), float(np.random.rand())
    dougong.manual_seed(8)
    assert dougong.load_training(tmp_path / "run.safetensors") == {}
    assert (dougong.rand(3, device="sim:1").tolist(), random.random(), float(np.random.rand())) == wanted


def test_what_the_file_does_not_have_is_named_and_nothing_is_changed(tmp_path: Path):
    run = Run(1, "cpu:0")
    path = tmp_path / "run.safetensors"
    dougong.save_training(path, model=run.model, note="hello")
    other = Run(2, "cpu:0")
    before = other.values()
    with pytest.raises(dougong.InvalidArgumentError, match="has no optimizer, generator; it has model, note"):
        dougong.load_training(path, model=other.model, optimizer=other.optimizer, generator=other.generator)
    with pytest.raises(TypeError, match="note must have load_state_dict"):
        dougong.load_training(path, model=other.model, note="")
    assert other.values() == before
    found = dougong.load_training(path)
    assert found["note"] == "hello" and list(found["model"]) == list(run.model.state_dict())
    dougong.save({"model": run.model.state_dict()}, path)
    with pytest.raises(dougong.InvalidArgumentError, match="save_training"):
        dougong.load_training(path, model=other.model)
