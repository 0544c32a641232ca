"""Options and quirks of the simulated accelerator."""

from __future__ import annotations

import time

import numpy as np
import pytest
from dougong_conformance.native import CallError
from sim_driver import Array, C, Device, Event, Gate, Kernels, Plugin, Stream, ffi

KNOWN = (
    "no_fp64, alignment=512, small_memory=64M, no_events, no_streams, dense_only, handles, slow_copies, single_queue"
)


@pytest.mark.parametrize("count", [0, 1, 64])
def test_there_are_as_many_devices_as_asked_for(open_sim, count: int):
    plugin = open_sim(DEVICES=str(count))
    assert plugin.device_count() == count
    with pytest.raises(CallError, match=f"device {count} was asked for; there are {count}, set by DOUGONG_SIM_DEVICES"):
        plugin.open_device(count)


def test_without_options_there_are_two_devices_and_everything_else(open_sim):
    plugin = open_sim()
    assert plugin.device_count() == 2
    assert all(plugin.has(slot) for slot in ffi_slots())


def ffi_slots() -> list[str]:
    return [name for name, _ in ffi.typeof("dg_device_api_t").fields if name != "struct_size"]


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("DEVICES", "65", "DOUGONG_SIM_DEVICES must be a whole number from 0 to 64, found '65'"),
        ("DEVICES", "-1", "DOUGONG_SIM_DEVICES must be a whole number"),
        ("DEVICES", "two", "found 'two'"),
        ("SEED", "0x1", "DOUGONG_SIM_SEED must be a whole number"),
        ("DELAY_US", "1.5", "DOUGONG_SIM_DELAY_US must be a whole number from 0 to 10000000"),
        ("DELAY_EVERY", " 1", "DOUGONG_SIM_DELAY_EVERY must be a whole number"),
        ("QUIRKS", "handles,no_fp32", f"'no_fp32' is no quirk; there are {KNOWN}"),
        ("QUIRKS", "handles,", f"'' is no quirk; there are {KNOWN}"),
        ("QUIRKS", "handles=1", "'handles=1' is no quirk"),
        ("QUIRKS", "alignment=96", "'alignment=96' is no quirk; .*a power of two from 64 to 4096"),
        ("QUIRKS", "small_memory=64", "'small_memory=64' is no quirk; .*from 4K to 1024G"),
        ("FAULTS", "memory_allocate", "DOUGONG_SIM_FAULTS: wanted SLOT:N=FAULT with N from 1.*found 'memory_allocate'"),
        ("FAULTS", "memory_fill:0=INTERNAL", "found 'memory_fill:0=INTERNAL'"),
        ("FAULTS", "memory_free:1=INTERNAL", "'memory_free' is no slot that can fail; there are device_create, "),
        ("FAULTS", "event_record:1=later:INTERNAL", "wanted for event_record a status such as"),
        ("FAULTS", "kernel_launch:1=corrupt", "wanted for kernel_launch a status such as .* or later: and a status"),
        ("FAULTS", "kernel_launch:1=OK", "found 'OK'"),
    ],
)
def test_a_wrong_option_is_refused_with_a_sentence(open_sim, variable: str, value: str, sentence: str):
    with pytest.raises(CallError, match=sentence) as caught:
        open_sim(**{variable: value})
    assert caught.value.status == C.DG_STATUS_INVALID_ARGUMENT


def time_of_a_hundred_fills(plugin: Plugin) -> float:
    """In milliseconds, as two events measure it."""
    device = plugin.open_device()
    stream, start, end = Stream(device), Event(device, timing=True), Event(device, timing=True)
    cell = device.allocate(1)
    start.record(stream)
    for _ in range(100):
        device.fill(cell, 0, b"\x01", 1, stream)
    end.record(stream)
    end.synchronize()
    elapsed = start.elapsed(end)
    device.close()
    return elapsed


def test_work_is_delayed_as_asked_for(open_sim):
    """A hundred delays of up to a millisecond; and none."""
    assert time_of_a_hundred_fills(open_sim(DELAY_US="1000", DELAY_EVERY="1", SEED="1")) > 25
    swift = open_sim(DELAY_EVERY="0")
    assert min(time_of_a_hundred_fills(swift) for _ in range(10)) < 25


# ---- Quirks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def quirky(open_sim):
    def open_quirky(quirks: str) -> Device:
        return open_sim(QUIRKS=quirks).open_device()

    return open_quirky


def test_no_fp64_declares_it_and_refuses_kernels_of_it(quirky):
    device = quirky("no_fp64")
    assert "float64" not in device.dtypes() and {"float32", "int64", "bool"} <= set(device.dtypes())
    kernels, stream = Kernels(device), Stream(device)
    x = Array(device, np.array([-1.0, 2.0]))
    assert kernels.status("relu", [x], x, stream) == C.DG_STATUS_UNSUPPORTED
    assert "relu: the chip has no float64" in device.plugin.last_error()
    assert x.read().tolist() == [-1, 2]
    device.close()


@pytest.mark.parametrize(("quirk", "alignment"), [("alignment", 512), ("alignment=4096", 4096)])
def test_alignment_holds_for_allocations_and_is_asked_of_tensors(quirky, quirk: str, alignment: int):
    device = quirky(quirk)
    kernels, stream = Kernels(device), Stream(device)
    assert device.alignment == alignment
    assert {kernel.alignment for kernel in device.kernels()} == {alignment}
    handles = [device.allocate(1) for _ in range(3)]
    assert all(int(ffi.cast("uintptr_t", handle)) % alignment == 0 for handle in handles)
    x, y = Array(device, np.zeros(2 * alignment, np.int8)), Array(device, np.zeros(8, np.int8))
    x.shape, x.handle = (8,), x.handle + 64
    assert kernels.status("abs", [x], y, stream) == C.DG_STATUS_INVALID_ARGUMENT
    assert f"aligned to {alignment} bytes" in device.plugin.last_error()
    device.close()


@pytest.mark.parametrize(("quirk", "size"), [("small_memory", 64 << 20), ("small_memory=4K", 4096)])
def test_small_memory_is_small(quirky, quirk: str, size: int):
    device = quirky(quirk)
    assert device.memory_info() == (size, size) and device.properties().memory_total == size
    assert device.status_of("memory_allocate", 0, size + 1, ffi.new("void **")) == C.DG_STATUS_OUT_OF_MEMORY
    device.free(device.allocate(size))
    device.close()


def test_no_events_leaves_their_slots_out(quirky):
    device = quirky("no_events")
    missing = {slot for slot in ffi_slots() if not device.has(slot)}
    assert missing == {slot for slot in ffi_slots() if slot.startswith("event_")} | {"stream_wait_event"}
    stream, cell = Stream(device), Array(device, np.zeros(4, np.uint8))
    device.fill(cell.handle, 0, b"\x03", 4, stream)
    assert cell.read(stream).tolist() == [3] * 4
    device.close()


def test_no_streams_makes_the_device_synchronous(quirky):
    device = quirky("no_streams")
    missing = {slot for slot in ffi_slots() if not device.has(slot)}
    assert missing == {slot for slot in ffi_slots() if slot.startswith(("event_", "stream_"))}
    x, index, y = (Array(device, a) for a in (np.arange(4.0), np.array([7]), np.zeros(1)))
    attributes = ffi.new("dg_gather_attributes_t *", (ffi.sizeof("dg_gather_attributes_t"), 0))
    assert Kernels(device).status("gather", [x, index], y, None, attributes) == C.DG_STATUS_OUT_OF_RANGE
    assert "gather" in device.plugin.last_error()
    Kernels(device).launch("neg", [x], x, None)
    assert x.read().tolist() == [0, -1, -2, -3]
    device.close()


def test_dense_only_declares_it_and_refuses_strided_tensors(quirky):
    device = quirky("dense_only")
    assert not any(kernel.has("STRIDED") for kernel in device.kernels())
    x, y = Array(device, np.zeros((4, 4), np.float32)), Array(device, np.zeros((4, 4), np.float32))
    x.order = "F"
    stream = Stream(device)
    assert Kernels(device).status("relu", [x], y, stream) == C.DG_STATUS_INVALID_ARGUMENT
    assert "dense tensors only" in device.plugin.last_error()
    device.close()


def test_handles_are_no_addresses_and_cannot_be_computed_with(quirky):
    device = quirky("handles")
    assert device.properties().capabilities & C.DG_DEVICE_OPAQUE_MEMORY
    stream, cell = Stream(device), Array(device, np.arange(100, dtype=np.uint8))
    assert device.download(cell.handle, 40, 10) == bytes(range(40, 50))
    moved = ffi.cast("char *", cell.handle) + 40
    status = device.status_of("copy_device_to_host", ffi.new("char[10]"), moved, 0, 10, stream.handle)
    assert status == C.DG_STATUS_INVALID_ARGUMENT
    assert device.allocate(1) != device.allocate(1)
    device.close()


def test_slow_copies_take_their_time_and_are_right(quirky):
    device = quirky("slow_copies")
    stream, start, end = Stream(device), Event(device, timing=True), Event(device, timing=True)
    data = np.random.default_rng(1).bytes(8 << 20)
    handle = device.allocate(len(data))
    start.record(stream)
    device.upload(handle, 0, data, stream)
    end.record(stream)
    end.synchronize()
    assert start.elapsed(end) > 8  # at 1 GB/s
    assert device.download(handle, 0, len(data)) == data
    device.close()


def test_single_queue_does_one_piece_of_work_at_a_time_but_streams_stay_free(quirky):
    device = quirky("single_queue,slow_copies")
    streams, data = [Stream(device) for _ in range(4)], bytes(8 << 20)
    handles = [device.allocate(len(data)) for _ in streams]
    begin = time.monotonic()
    for stream, handle in zip(streams, handles, strict=True):
        device.upload(handle, 0, data, stream)
    device.call("device_synchronize")
    assert time.monotonic() - begin > 4 * 0.008
    with Gate(streams[0]):
        device.fill(handles[0], 0, b"\x01", 1, streams[0])
        device.fill(handles[1], 0, b"\x02", 1, streams[1])
        streams[1].synchronize()
        assert not streams[0].query()
    device.close()


def test_quirks_combine(quirky):
    device = quirky("handles,dense_only,alignment=256,small_memory=1M,single_queue,no_fp64")
    assert device.memory_info() == (1 << 20, 1 << 20) and device.alignment == 256
    assert device.properties().capabilities & C.DG_DEVICE_OPAQUE_MEMORY
    x, stream = Array(device, np.arange(-3, 3, dtype=np.int16)), Stream(device)
    Kernels(device).launch("relu", [x], x, stream)
    assert x.read(stream).tolist() == [0, 0, 0, 0, 1, 2]
    device.close()


def test_the_shape_of_the_table_is_decided_when_the_library_is_loaded(open_sim, monkeypatch):
    plugin = open_sim()
    monkeypatch.setenv("DOUGONG_SIM_QUIRKS", "no_streams")
    with pytest.raises(CallError, match="changed after the library was loaded"):
        Plugin(plugin.path).initialize()
