"""A synchronous device bears one call at a time, unless it says more."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import dougong
import numpy as np
import pytest


def test_threads_compute_on_one_synchronous_device_at_a_time() -> None:
    results: dict[int, list[float]] = {}

    def work(tag: int) -> None:
        x = dougong.full((1 << 15,), float(tag))
        for _ in range(20):
            x = x + 1
        results[tag] = [x[0].item(), x[-1].item()]

    threads = [threading.Thread(target=work, args=(tag,)) for tag in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {tag: [tag + 20.0, tag + 20.0] for tag in range(6)}


def test_cpu_declares_that_it_bears_calls_from_several_threads() -> None:
    assert "concurrent" in dougong.device("cpu:0").properties["capabilities"]


@pytest.mark.parametrize("declared", [False, True])
def test_device_gets_one_copy_at_a_time_unless_it_declares_more(named: Callable[..., Path], declared: bool) -> None:
    name = "several" if declared else "single"
    switches = ["PROPERTIES=p->capabilities = DG_DEVICE_CONCURRENT"] if declared else []
    path = named(name, "COUNT_OVERLAPS", *switches)
    dougong.load_plugin(path)
    data = np.ones(1 << 16, np.float32)

    def work() -> None:
        for _ in range(20):
            dougong.tensor(data, device=name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (ctypes.CDLL(str(path)).plain_overlaps() > 0) is declared
