"""Streams, events, callbacks and copies of the simulated accelerator."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sim_driver import PATIENCE, Array, C, Device, Event, Gate, Kernels, Stream, ffi, in_threads


def filled(device: Device, size: int, byte: int = 0) -> Array:
    return Array(device, np.full(size, byte, np.uint8))


def test_a_thousand_increments_happen_in_order(device: Device):
    kernels, stream = Kernels(device), Stream(device)
    counter, step = Array(device, np.zeros(3, np.int32)), Array(device, np.ones(3, np.int32))
    seen = Array(device, np.zeros((1000, 3), np.int32))
    with Gate(stream):
        for i in range(1000):
            kernels.launch("add", [counter, step], counter, stream)
            device.copy(seen.handle, 12 * i, counter.handle, 0, 12, stream)
    stream.synchronize()
    assert (seen.read() == np.arange(1, 1001)[:, None]).all()


def test_a_stream_that_waits_for_an_event_sees_what_came_before_the_record(open_sim):
    device = open_sim(DELAY_US="300", DELAY_EVERY="2", SEED="7").open_device()
    writer, reader, cell, line = Stream(device), Stream(device), filled(device, 4), filled(device, 4 * 200)
    written, read = Event(device), Event(device)
    for i in range(200):
        writer.wait(read)
        device.fill(cell.handle, 0, (1000 + i).to_bytes(4, "little"), 1, writer)
        written.record(writer)
        reader.wait(written)
        device.copy(line.handle, 4 * i, cell.handle, 0, 4, reader)
        read.record(reader)
    reader.synchronize()
    assert line.read().view(np.int32).tolist() == list(range(1000, 1200))
    device.close()


def test_a_wait_captures_what_was_recorded_at_the_call(device: Device):
    first, second, waiting, event = Stream(device), Stream(device), Stream(device), Event(device)
    with Gate(first) as first_gate, Gate(second) as second_gate:
        event.record(first)
        waiting.wait(event)
        event.record(second)
        assert not waiting.query()
        first_gate.open()
        waiting.synchronize()
        assert not event.query()
        second_gate.open()
        event.synchronize()


def test_a_query_does_not_wait_and_turns_true_by_itself(device: Device):
    stream, event = Stream(device), Event(device)
    with Gate(stream) as gate:
        event.record(stream)
        start = time.monotonic()
        assert not stream.query() and not event.query()
        assert time.monotonic() - start < 1
        gate.open()
        end = time.monotonic() + PATIENCE
        while not (stream.query() and event.query()):
            assert time.monotonic() < end
            time.sleep(0.001)


def test_elapsed_time_is_at_least_the_time_between_two_records(device: Device):
    stream, start, end = Stream(device), Event(device, timing=True), Event(device, timing=True)
    start.record(stream)
    stream.add_callback(lambda status: time.sleep(0.03))
    end.record(stream)
    end.synchronize()
    assert 30 <= start.elapsed(end) < 5000


def test_elapsed_time_of_an_unfinished_or_unrecorded_event_is_no_number(device: Device):
    stream, start, end, never, untimed = Stream(device), *(Event(device, timing=t) for t in (True, True, True, False))
    out = ffi.new("double *", -1)

    def status(a: Event, b: Event) -> int:
        return device.status_of("event_elapsed", a.handle, b.handle, out)

    start.record(stream)
    untimed.record(stream)
    with Gate(stream):
        end.record(stream)
        assert status(start, end) == C.DG_STATUS_NOT_READY
    stream.synchronize()
    assert status(start, never) == C.DG_STATUS_INVALID_ARGUMENT
    assert status(start, untimed) == C.DG_STATUS_INVALID_ARGUMENT
    assert out[0] == -1


def test_an_event_that_was_never_recorded_is_complete_and_holds_nothing_up(device: Device):
    stream, event = Stream(device), Event(device)
    assert event.query()
    event.synchronize()
    stream.wait(event)
    stream.synchronize()


def test_a_stream_and_an_event_may_be_destroyed_before_their_work_is_done(device: Device):
    stream, waiting, event, cell = Stream(device), Stream(device), Event(device), filled(device, 8)
    gate = Gate(stream)
    device.fill(cell.handle, 0, b"\x07", 8, stream)
    event.record(stream)
    waiting.wait(event)
    event.close()
    stream.close()
    assert not waiting.query()
    gate.open()
    device.call("device_synchronize")
    assert cell.read().tolist() == [7] * 8


def test_callbacks_run_once_each_in_order_with_status_ok(device: Device):
    stream, cell, seen = Stream(device), filled(device, 1), []
    for i in range(200):
        stream.add_callback(lambda status, i=i: seen.append((i, status)))
        device.fill(cell.handle, 0, bytes([i]), 1, stream)
    stream.synchronize()
    assert seen == [(i, C.DG_STATUS_OK) for i in range(200)]


def test_a_pinned_copy_happens_when_the_stream_comes_there_and_its_event_covers_it(device: Device):
    size, stream, event = 1 << 16, Stream(device), Event(device)
    source = Array(device, np.arange(size, dtype=np.uint8))
    pinned = device.allocate(size, C.DG_MEMORY_HOST_PINNED)
    host = np.frombuffer(ffi.buffer(pinned, size), np.uint8)
    host[:] = 99
    with Gate(stream):
        device.queue("copy_device_to_host", pinned, source.handle, 0, size, stream=stream)
        event.record(stream)
        assert not event.query() and (host == 99).all()
    event.synchronize()
    assert (host == np.arange(size, dtype=np.uint8)).all()
    host[:] = 42
    with Gate(stream):
        device.queue("copy_host_to_device", source.handle, 0, pinned, size, stream=stream)
        host[:] = 43
    stream.synchronize()
    assert (source.read() == 43).all()
    device.free(pinned, C.DG_MEMORY_HOST_PINNED)


def test_pageable_memory_is_done_with_when_the_copy_returns(device: Device):
    stream, cell, source = Stream(device), filled(device, 4096), bytearray(b"\x11" * 4096)
    with Gate(stream):
        device.upload(cell.handle, 0, source, stream)
        source[:] = b"\xee" * 4096
    stream.synchronize()
    assert (cell.read() == 0x11).all()
    stream.add_callback(lambda status: time.sleep(0.02))
    device.fill(cell.handle, 0, b"\x22", 4096, stream)
    assert (cell.read(stream) == 0x22).all()


def test_a_peer_copy_carries_what_an_event_of_the_other_device_covers(open_sim):
    plugin = open_sim(DEVICES="3")
    first, second = plugin.open_device(0), plugin.open_device(2)
    source, target = filled(first, 1000), filled(second, 1000)
    writer, reader, event = Stream(first), Stream(second), Event(first)
    with Gate(writer):
        first.fill(source.handle, 0, b"\x05", 1000, writer)
        event.record(writer)
        reader.wait(event)
        second.queue("copy_peer", target.handle, 10, first.handle, source.handle, 500, 500, stream=reader)
    reader.synchronize()
    assert target.read().tolist() == [0] * 10 + [5] * 500 + [0] * 490
    first.close()
    second.close()


def test_sixteen_threads_do_not_disturb_each_other(open_sim):
    device = open_sim(SEED="3").open_device()
    kernels = Kernels(device)

    def work(tag: int) -> None:
        stream, event = Stream(device), Event(device)
        for round_ in range(20):
            size = 1000 + 37 * tag + round_
            x, y = Array(device, np.full(size, tag, np.int64)), Array(device, np.zeros(size, np.int64))
            for _ in range(5):
                kernels.launch("add", [y, x], y, stream)
            event.record(stream)
            event.synchronize()
            assert (y.read(stream) == 5 * tag).all()
            x.free()
            y.free()
        stream.close()
        event.close()

    in_threads(16, work)
    free, total = device.memory_info()
    assert free == total
    device.close()


@pytest.mark.parametrize("priority", [-(2**31), -1, 0, 1, 2**31 - 1])
def test_every_priority_is_taken(device: Device, priority: int):
    stream = Stream(device, priority)
    stream.synchronize()


def test_a_null_stream_is_refused_where_there_are_streams(device: Device):
    cell = filled(device, 4)
    status = device.status_of("memory_fill", cell.handle, 0, b"\x01", 1, 4, ffi.NULL)
    assert status == C.DG_STATUS_INVALID_ARGUMENT
    assert "stream is null" in device.plugin.last_error()
