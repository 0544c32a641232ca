"""Planned faults of the simulated accelerator."""

from __future__ import annotations

import numpy as np
import pytest
from dougong_conformance.native import CallError
from sim_driver import Array, C, Device, Event, Gate, Kernels, Stream, ffi


def test_the_nth_call_of_a_slot_fails_and_no_other(open_sim):
    device = open_sim(FAULTS="memory_allocate:3=OUT_OF_MEMORY,memory_allocate:5=TIMED_OUT").open_device()
    statuses = [device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, 8, ffi.new("void **")) for _ in range(6)]
    wanted = [C.DG_STATUS_OUT_OF_MEMORY if i == 2 else C.DG_STATUS_TIMED_OUT if i == 4 else 0 for i in range(6)]
    assert statuses == wanted
    device.close()


def test_a_call_that_fails_queues_nothing_and_says_that_it_was_planned(open_sim):
    device = open_sim(FAULTS="memory_fill:1=INTERNAL,kernel_launch:2=UNSUPPORTED").open_device()
    stream, cell = Stream(device), Array(device, np.full(4, 5, np.int8))
    with pytest.raises(CallError, match="sim:0: a planned fault of memory_fill") as caught:
        device.fill(cell.handle, 0, b"\x01", 4, stream)
    assert caught.value.status == C.DG_STATUS_INTERNAL
    kernels = Kernels(device)
    assert [kernels.status("neg", [cell], cell, stream) for _ in range(3)] == [0, C.DG_STATUS_UNSUPPORTED, 0]
    assert cell.read(stream).tolist() == [5] * 4
    device.close()


@pytest.mark.parametrize("ask", ["stream_synchronize", "device_synchronize"])
def test_a_later_fault_comes_with_the_stream_and_is_reported_once(open_sim, ask: str):
    device = open_sim(FAULTS="memory_fill:1=later:INTERNAL").open_device()
    stream, cell = Stream(device), Array(device, np.full(4, 5, np.int8))
    device.fill(cell.handle, 0, b"\x01", 4, stream)
    arguments = (stream.handle,) if ask == "stream_synchronize" else ()
    assert device.status_of(ask, *arguments) == C.DG_STATUS_INTERNAL
    assert "a planned fault" in device.plugin.last_error()
    assert device.status_of(ask, *arguments) == C.DG_STATUS_OK
    assert cell.read(stream).tolist() == [5] * 4
    device.close()


@pytest.mark.parametrize("slot", ["copy_host_to_device", "copy_device_to_host", "copy_device_to_device", "copy_peer"])
def test_a_corrupted_copy_has_one_wrong_byte(open_sim, slot: str):
    number = 1 if slot in ("copy_device_to_device", "copy_peer") else 2
    device = open_sim(FAULTS=f"{slot}:{number}=corrupt").open_device()
    data = np.arange(1, 9, dtype=np.uint8)
    x, y, stream = Array(device, data), Array(device, data * 0), Stream(device)
    if slot == "copy_peer":
        device.queue(slot, y.handle, 0, device.handle, x.handle, 0, 8, stream=stream)
    else:
        device.copy(y.handle, 0, x.handle, 0, 8, stream)
    stream.synchronize()
    if slot == "copy_device_to_host":
        x.read()
    wrong = [int((a.read() != b).sum()) for a, b in ((x, data), (y, data))]
    assert sum(wrong) == 1 if slot != "copy_host_to_device" else wrong == [0, 0]
    device.close()


def lost(open_sim, fault: str) -> Device:
    return open_sim(FAULTS=fault).open_device()


def test_a_lost_device_says_so_in_every_call(open_sim):
    device = lost(open_sim, "kernel_launch:2=DEVICE_LOST")
    stream, event, x = Stream(device), Event(device), Array(device, np.ones(4, np.float32))
    kernels = Kernels(device)
    assert [kernels.status("neg", [x], x, stream) for _ in range(3)] == [0, *[C.DG_STATUS_DEVICE_LOST] * 2]
    out, data = ffi.new("void **"), ffi.new("char[16]")
    calls = [
        ("memory_allocate", C.DG_MEMORY_DEVICE, 1, out),
        ("copy_host_to_device", x.handle, 0, data, 16, stream.handle),
        ("copy_device_to_host", data, x.handle, 0, 16, stream.handle),
        ("stream_create", 0, ffi.new("dg_stream_t **")),
        ("stream_query", stream.handle),
        ("stream_synchronize", stream.handle),
        ("event_record", event.handle, stream.handle),
        ("event_query", event.handle),
        ("event_synchronize", event.handle),
        ("device_synchronize",),
    ]
    for _ in range(2):
        for slot, *arguments in calls:
            assert device.status_of(slot, *arguments) == C.DG_STATUS_DEVICE_LOST, slot
            assert "a planned fault of kernel_launch" in device.plugin.last_error(), slot
    x.free()
    event.close()
    stream.close()
    device.close()


def test_a_device_lost_on_the_way_lets_everybody_go_and_works_when_it_is_opened_again(open_sim):
    plugin = open_sim(FAULTS="memory_fill:1=later:DEVICE_LOST")
    device, other = plugin.open_device(0), plugin.open_device(1)
    stream, waiting, event, seen = Stream(device), Stream(device), Event(device), []
    cell = Array(device, np.full(4, 5, np.int8))
    with Gate(stream):
        device.fill(cell.handle, 0, b"\x01", 4, stream)
        event.record(stream)
        waiting.wait(event)
        waiting.add_callback(seen.append)
        stream.add_callback(seen.append)
        assert not stream.query()
    for slot, handle in (("stream_synchronize", waiting), ("event_synchronize", event), ("stream_synchronize", stream)):
        assert device.status_of(slot, handle.handle) == C.DG_STATUS_DEVICE_LOST
    assert device.status_of("device_synchronize") == C.DG_STATUS_DEVICE_LOST
    assert seen == [C.DG_STATUS_DEVICE_LOST] * 2
    assert (Array(other, np.arange(5)).read() == np.arange(5)).all()
    for object_ in (stream, waiting, event, device):
        object_.close()
    again = plugin.open_device(0)
    assert (Array(again, np.arange(5)).read() == np.arange(5)).all()
    again.close()
    other.close()


@pytest.mark.parametrize("slot", ["device_create", "stream_create", "event_create"])
def test_what_could_not_be_made_can_be_made_the_next_time(open_sim, slot: str):
    plugin = open_sim(FAULTS=f"{slot}:1=TIMED_OUT")
    make = {
        "device_create": lambda: plugin.open_device(),
        "stream_create": lambda: Stream(plugin.open_device()),
        "event_create": lambda: Event(plugin.open_device()),
    }[slot]
    with pytest.raises(CallError, match=f"a planned fault of {slot}") as caught:
        make()
    assert caught.value.status == C.DG_STATUS_TIMED_OUT
    make()
