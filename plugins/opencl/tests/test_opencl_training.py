"""Networks train on an OpenCL device with nothing computed on the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dougong
from dougong import _generator, nn

DEVICE = "opencl:0"


def losses(device: str) -> list[float]:
    """A small convolutional network, ten steps."""
    dougong.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(64), nn.Linear(64, 5)
    ).to(device)
    optimizer = dougong.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    dougong.manual_seed(4)
    images = dougong.rand(6, 1, 8, 8).to(device)
    labels = dougong.tensor([0, 1, 2, 3, 4, 0], device=device)
    found = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_network_learns_as_on_the_host() -> None:
    found, wanted = losses(DEVICE), losses("cpu:0")
    assert dougong.fallbacks(DEVICE) == {}
    assert found[-1] < found[0] / 2
    assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < 1e-4, (found, wanted)


def test_the_judge_finds_nothing_in_memory_and_streams() -> None:
    command = [sys.executable, "-m", "dougong", "conformance", "run", DEVICE, "--jobs", "1"]
    levels = [word for level in ("abi", "memory", "stream") for word in ("--level", level)]
    done = subprocess.run([*command, *levels], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout


def test_binaries_are_kept_and_a_torn_one_is_written_anew(tmp_path: Path, monkeypatch) -> None:
    code = f"import dougong; print((dougong.ones(3, device='{DEVICE}') + 1).sum().item())"

    def run() -> str:
        environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path))
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run() == "6.0\n"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = sorted(_generator.folder().iterdir())
    assert kept and all(_generator.read(path.name) for path in kept)
    for path in kept:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert not any(_generator.read(path.name) for path in kept)
    assert run() == "6.0\n"
    assert sorted(_generator.folder().iterdir()) == kept
    assert all(_generator.read(path.name) for path in kept)
