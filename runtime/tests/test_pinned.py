"""Pinned host memory: copies that go on after the call, and memory that is not reused before they are done."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import dougong
import numpy as np
import pytest
from dougong.data import prefetch

DEVICE = "sim:0"


class Gate:
    """Holds up the device's current stream until it is opened."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.stream = dougong.current_stream(DEVICE)
        self.stream.add_callback(lambda status: self.event.wait(10))

    def open(self) -> None:
        self.event.set()
        self.stream.synchronize()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def pinned(*values: float) -> dougong.Tensor:
    return dougong.tensor(values).pin_memory(DEVICE)


def test_a_pinned_tensor_is_an_ordinary_one_on_the_host():
    x = dougong.arange(6).reshape(2, 3).T
    y = x.pin_memory(DEVICE)
    assert y.is_pinned() and not x.is_pinned() and y.device == dougong.device("cpu:0")
    assert y.tolist() == x.tolist() and (y + 1).tolist() == (x + 1).tolist()
    assert y.pin_memory(DEVICE).data_ptr() == y.data_ptr() and y[1:].is_pinned()
    with pytest.raises(dougong.InvalidArgumentError, match="cpu:0"):
        dougong.ones(1, device=DEVICE).pin_memory(DEVICE)


def test_a_non_blocking_copy_returns_at_once_and_reads_the_memory_later(gate: Gate):
    x = pinned(1.0, 2.0)
    y = x.to(DEVICE, non_blocking=True)
    assert not gate.stream.query()
    x.fill_(7.0)
    gate.open()
    assert y.tolist() == [7.0, 7.0]


def test_a_plain_copy_has_read_the_memory_when_it_returns(gate: Gate):
    x = pinned(1.0, 2.0)
    threading.Timer(0.05, gate.event.set).start()
    y = x.to(DEVICE)
    assert gate.event.is_set()
    x.fill_(7.0)
    assert y.tolist() == [1.0, 2.0]


def test_a_copy_into_pinned_memory_is_there_when_it_returns(gate: Gate):
    x = dougong.ones(3, device=DEVICE) * 5
    host = dougong.zeros(3).pin_memory(DEVICE)
    threading.Timer(0.05, gate.event.set).start()
    dougong._core._copy_to_host(x, host.numpy().view(np.uint8))
    assert host.tolist() == [5.0, 5.0, 5.0]


def test_memory_is_not_reused_before_its_copy_is_done(gate: Gate):
    x = pinned(*map(float, range(5000)))
    place = x.data_ptr()
    y = x.to(DEVICE, non_blocking=True)
    del x
    other = pinned(*[0.0] * 5000)
    assert other.data_ptr() != place
    gate.open()
    assert y.tolist() == list(range(5000))
    assert pinned(*[0.0] * 5000).data_ptr() == place


def test_blocks_are_kept_for_reuse():
    size = 3 << 18
    dougong.zeros(size).pin_memory(DEVICE)
    before = dougong._core._pinned_stats(DEVICE)
    for _ in range(3):
        dougong.zeros(size - 1).pin_memory(DEVICE)
    assert dougong._core._pinned_stats(DEVICE) == before and before["free_blocks"] >= 1


def test_prefetch_copies_ahead_on_a_stream_of_its_own(gate: Gate):
    taken: list[int] = []

    def batches() -> Iterator[dict[str, dougong.Tensor]]:
        for i in range(4):
            taken.append(i)
            yield {"x": pinned(float(i), 1.0), "name": str(i)}

    found = prefetch(batches(), DEVICE, ahead=2)
    first = next(found)
    assert taken == [0, 1, 2] and str(first["x"].device) == DEVICE and first["name"] == "0"
    doubled = first["x"] * 2  # behind the gate, and behind the copy
    assert not gate.stream.query()
    gate.open()
    assert doubled.tolist() == [0.0, 2.0]
    assert [(b["x"] + 1).tolist() for b in found] == [[2.0, 2.0], [3.0, 2.0], [4.0, 2.0]]
    assert taken == [0, 1, 2, 3]


def test_on_a_synchronous_device_all_of_it_works_too():
    (batch,) = prefetch([dougong.ones(2).pin_memory("cpu:0")], "cpu:0")
    assert batch.tolist() == [1.0, 1.0] and batch.to("cpu:0", non_blocking=True).is_pinned()


def test_a_block_is_kept_as_long_as_copies_of_parts_of_it_go_on(gate: Gate):
    batch = dougong.arange(8 * 1000).float().reshape(8, 1000).pin_memory(DEVICE)
    rows = [row.to(DEVICE, non_blocking=True) for row in batch]
    del batch
    dougong.full((8, 1000), -1.0).pin_memory(DEVICE)
    gate.open()
    assert [row[999].item() for row in rows] == [1000.0 * i + 999 for i in range(8)]


def test_results_come_into_pinned_memory_while_the_host_goes_on(gate: Gate):
    host = dougong.full((3,), -1.0).pin_memory(DEVICE)
    version = dougong._core._storage_info(host)["version"]
    x = dougong.ones(3, device=DEVICE) * 5
    host.copy_(x, non_blocking=True)
    assert host.tolist() == [-1.0] * 3 and dougong._core._storage_info(host)["version"] > version
    copied = gate.stream.record_event()
    del x
    gate.event.set()
    copied.synchronize()
    assert host.tolist() == [5.0] * 3


def test_a_copy_between_devices_goes_straight_to_its_place_and_counts_as_a_write():
    there = dougong.zeros(4, device=DEVICE)
    reserved = there.device.memory_stats()["allocations"]
    there.copy_(dougong.arange(4).float())
    assert there.device.memory_stats()["allocations"] == reserved and there.tolist() == [0, 1, 2, 3]
    there[1:].copy_(dougong.tensor([7, 8, 9]))
    there[:1] = dougong.tensor([6.0])
    assert there.tolist() == [6, 7, 8, 9]
    x = dougong.ones(4, device=DEVICE, requires_grad=True)
    y = x * there
    there.copy_(dougong.zeros(4))
    with pytest.raises(dougong.InvalidArgumentError, match="written in place"):
        y.sum().backward()
