"""Kernels of the simulated accelerator: they run later, and what they are told is read now."""

from __future__ import annotations

import numpy as np
import pytest
from sim_driver import Array, C, Device, Event, Gate, Kernels, Stream, ffi


def test_has_the_kernels_of_the_cpu_plugin(device: Device):
    kernels = device.kernels()
    assert len({kernel.op for kernel in kernels}) == len(kernels) > 100


def test_a_kernel_runs_when_the_stream_comes_there(device: Device):
    stream, x = Stream(device), Array(device, np.array([-1, 2], np.float32))
    y = Array(device, np.full(2, 9, np.float32))
    with Gate(stream):
        Kernels(device).launch("relu", [x], y, stream)
        assert y.read().tolist() == [9, 9]
        device.upload(x.handle, 0, np.array([3, -4], np.float32).tobytes())
    stream.synchronize()
    assert y.read().tolist() == [3, 0]


def test_descriptors_and_lists_of_attributes_are_read_before_the_launch_returns(device: Device):
    """The driver overwrites the descriptors; this overwrites the attributes too."""
    stream, x = Stream(device), Array(device, np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    y = Array(device, np.zeros(3, np.float32))
    axes = ffi.new("int64_t[]", [0, 2])
    attributes = ffi.new("dg_sum_attributes_t *", (ffi.sizeof("dg_sum_attributes_t"), axes, 2, 0))
    with Gate(stream):
        Kernels(device).launch("sum", [x], y, stream, attributes)
        ffi.memmove(axes, b"\xee" * 16, 16)
        ffi.memmove(attributes, b"\xee" * ffi.sizeof(attributes[0]), ffi.sizeof(attributes[0]))
    stream.synchronize()
    assert y.read().tolist() == [60, 92, 124]


@pytest.fixture
def wild(device: Device):
    """gather with an index out of range: launch(stream) queues it."""
    x, index = Array(device, np.arange(5, dtype=np.float32)), Array(device, np.array([0, 5]))
    y = Array(device, np.full(2, 9, np.float32))
    attributes = ffi.new("dg_gather_attributes_t *", (ffi.sizeof("dg_gather_attributes_t"), 0))

    def launch(stream: Stream) -> Array:
        Kernels(device).launch("gather", [x, index], y, stream, attributes)
        return y

    return launch


STATUS = {
    "query": lambda device, stream: device.status_of("stream_query", stream.handle),
    "synchronize": lambda device, stream: device.status_of("stream_synchronize", stream.handle),
    "device": lambda device, stream: device.status_of("device_synchronize"),
    "copy": lambda device, stream: device.status_of(
        "copy_device_to_host", ffi.new("char[1]"), device.allocate(1), 0, 1, stream.handle
    ),
}


@pytest.mark.parametrize("asked", STATUS)
def test_an_index_out_of_range_is_reported_once_and_the_device_stays_usable(device: Device, wild, asked: str):
    stream, done = Stream(device), Event(device)
    with Gate(stream):
        y = wild(stream)
        done.record(stream)
    while (status := STATUS[asked](device, stream)) == C.DG_STATUS_NOT_READY:
        pass
    assert status == C.DG_STATUS_OUT_OF_RANGE
    assert "gather" in device.plugin.last_error()
    for ask in STATUS.values():
        assert ask(device, stream) == C.DG_STATUS_OK
    assert done.query()
    assert y.read(stream).tolist() == [9, 9]


def test_an_event_reports_the_failure_of_what_it_recorded_and_then_the_stream_does_not(device: Device, wild):
    before, after, stream = Event(device), Event(device), Stream(device)
    before.record(stream)
    wild(stream)
    after.record(stream)
    assert device.status_of("event_synchronize", before.handle) == C.DG_STATUS_OK
    assert device.status_of("event_synchronize", after.handle) == C.DG_STATUS_OUT_OF_RANGE
    assert "gather" in device.plugin.last_error()
    assert device.status_of("event_query", after.handle) == C.DG_STATUS_OK
    stream.synchronize()


def test_the_failure_of_a_destroyed_stream_is_told_by_the_device(device: Device, wild):
    stream = Stream(device)
    wild(stream)
    stream.close()
    assert device.status_of("device_synchronize") == C.DG_STATUS_OUT_OF_RANGE
    assert "gather" in device.plugin.last_error()
    device.call("device_synchronize")


def test_a_callback_is_told_that_the_stream_failed_before_it(device: Device, wild):
    stream, seen = Stream(device), []
    stream.add_callback(seen.append)
    with Gate(stream):
        wild(stream)
        stream.add_callback(seen.append)
    assert device.status_of("stream_synchronize", stream.handle) == C.DG_STATUS_OUT_OF_RANGE
    stream.add_callback(seen.append)
    stream.synchronize()
    assert seen == [C.DG_STATUS_OK, C.DG_STATUS_OUT_OF_RANGE, C.DG_STATUS_OK]


def test_a_tensor_that_reaches_beyond_its_memory_is_refused(device: Device):
    kernels, stream = Kernels(device), Stream(device)
    x, y = Array(device, np.zeros(100, np.float32)), Array(device, np.zeros(100, np.float32))
    y.shape = x.shape = (101,)
    assert kernels.status("relu", [x], y, stream) == C.DG_STATUS_INVALID_ARGUMENT
    assert "404 bytes at handle" in device.plugin.last_error()
