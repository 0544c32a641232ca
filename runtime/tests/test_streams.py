"""Streams, events, callbacks and copies keep their order on an asynchronous plugin, whichever optional slots it has."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import dougong
import numpy as np
import pytest
from dougong import _core

Named = Callable[..., Path]

VARIANTS = {
    "full": [],
    "noevents": ["NO_EVENTS"],
    "nowait": ["NO_WAIT"],
    "nocallback": ["NO_CALLBACK"],
    "nopeer": ["NO_PEER"],
    "nooptional": ["NO_OPTIONAL"],
}


def load(named: Named, name: str, switches: list[str]) -> SimpleNamespace:
    path = named(name, *switches, source="queue")
    dougong.load_plugin(path)
    return SimpleNamespace(
        name=name, library=ctypes.CDLL(str(path)), device=dougong.device(f"{name}:0"), other=dougong.device(f"{name}:1")
    )


def at_rest(plugin: SimpleNamespace) -> None:
    plugin.library.queue_hold(0)
    plugin.library.queue_set_delay(0)
    plugin.library.queue_fail_next(0)
    gc.collect()
    for device in (plugin.device, plugin.other):
        device.synchronize()


@pytest.fixture(params=VARIANTS)
def plugin(request: pytest.FixtureRequest, named: Named) -> Iterator[SimpleNamespace]:
    """Each variant of the asynchronous plugin."""
    plugin = load(named, f"q_{request.param}", VARIANTS[request.param])
    plugin.variant = request.param
    yield plugin
    at_rest(plugin)


@pytest.fixture
def full(named: Named) -> Iterator[SimpleNamespace]:
    plugin = load(named, "q_full", [])
    yield plugin
    at_rest(plugin)


def values(tensor: dougong.Tensor) -> list[float]:
    return tensor.numpy().reshape(-1).tolist()


@pytest.mark.parametrize("count", [1, 16, 1000, 1_000_000])
def test_a_host_buffer_may_be_overwritten_at_once(plugin: SimpleNamespace, count: int) -> None:
    plugin.library.queue_set_delay(5)
    array = np.arange(count, dtype=np.float32)
    tensor = dougong.tensor(array, device=plugin.device)
    array[:] = -1
    assert np.array_equal(tensor.numpy(), np.arange(count, dtype=np.float32))


def test_fills_and_copies_on_the_device_keep_their_order(plugin: SimpleNamespace) -> None:
    plugin.library.queue_set_delay(2)
    x = dougong.zeros(70_000, device=plugin.device)
    y = x.clone()
    x[:] = 5.0
    z = x.clone()
    assert set(values(y)) == {0.0} and set(values(z)) == {5.0}


def test_one_stream_waits_for_another(plugin: SimpleNamespace) -> None:
    a, b = dougong.Stream(plugin.device), dougong.Stream(plugin.device)
    plugin.library.queue_set_delay(10)
    with dougong.stream(a):
        x = dougong.tensor([1.0, 2.0], device=plugin.device)
    b.wait_stream(a)
    with dougong.stream(b):
        _core._record_stream(x, b)
        assert values(x.clone()) == [1.0, 2.0]


def test_an_event_covers_the_work_before_it(plugin: SimpleNamespace) -> None:
    a, b = dougong.Stream(plugin.device), dougong.Stream(plugin.device)
    plugin.library.queue_set_delay(10)
    with dougong.stream(a):
        x = dougong.tensor([3.0], device=plugin.device)
        event = a.record_event()
    event.wait(b)
    with dougong.stream(b):
        _core._record_stream(x, b)
        assert values(x.clone()) == [3.0]
    event.synchronize()
    assert event.query()


def test_an_event_that_was_never_recorded_is_complete(plugin: SimpleNamespace) -> None:
    event = dougong.Event(plugin.device)
    assert event.query()
    event.synchronize()
    event.wait()
    plugin.device.synchronize()


def test_a_query_does_not_wait(full: SimpleNamespace) -> None:
    stream = dougong.current_stream(full.device)
    full.library.queue_hold(1)
    x = dougong.tensor([1.0], device=full.device)
    event = stream.record_event()
    assert not stream.query() and not event.query()
    full.library.queue_hold(0)
    event.synchronize()
    assert event.query() and values(x) == [1.0] and stream.query()


def test_recording_again_replaces_and_waiting_takes_what_was_recorded(full: SimpleNamespace) -> None:
    event = dougong.Event(full.device)
    event.record()
    event.synchronize()
    full.library.queue_hold(1)
    dougong.tensor([1.0], device=full.device)
    event.record()
    assert not event.query()


def test_elapsed_time_is_measured_or_refused(full: SimpleNamespace) -> None:
    start, end, never, untimed = (
        dougong.Event(full.device, enable_timing=timing) for timing in (True, True, True, False)
    )
    full.library.queue_set_delay(20)
    start.record()
    end.record()
    end.synchronize()
    assert 15 < start.elapsed_time(end) < 5000
    with pytest.raises(dougong.InvalidArgumentError, match="never recorded"):
        start.elapsed_time(never)
    with pytest.raises(dougong.InvalidArgumentError, match="enable_timing"):
        start.elapsed_time(untimed)
    untimed.record()
    with pytest.raises(dougong.InvalidArgumentError, match="cannot be recorded on a stream of q_full:0"):
        dougong.Event(full.other).record(dougong.current_stream(full.device))


def test_time_that_a_plugin_does_not_measure_is_unsupported(named: Named) -> None:
    plugin = load(named, "q_noevents", ["NO_EVENTS"])
    start, end = dougong.Event(plugin.device, enable_timing=True), dougong.Event(plugin.device, enable_timing=True)
    start.record()
    end.record()
    with pytest.raises(dougong.UnsupportedError, match="does not measure time"):
        start.elapsed_time(end)


def test_a_synchronous_device_measures_by_the_clock_of_the_host() -> None:
    start, end = dougong.Event("cpu", enable_timing=True), dougong.Event("cpu", enable_timing=True)
    with pytest.raises(dougong.InvalidArgumentError, match="never recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.01)
    end.record()
    assert 9 < start.elapsed_time(end) < 5000


def test_synchronize_waits_for_every_stream(plugin: SimpleNamespace) -> None:
    streams = [dougong.Stream(plugin.device) for _ in range(3)]
    plugin.library.queue_set_delay(10)
    done: list[int] = []
    for number, stream in enumerate(streams):
        stream.add_callback(lambda status, number=number: done.append(number))
    plugin.device.synchronize()
    assert sorted(done) == [0, 1, 2]
    assert all(stream.query() for stream in streams)


def test_callbacks_run_once_in_order_with_the_status(plugin: SimpleNamespace) -> None:
    plugin.library.queue_set_delay(1)
    stream, seen = dougong.Stream(plugin.device), []
    for number in range(10):
        stream.add_callback(lambda status, number=number: seen.append((number, status)))
    stream.synchronize()
    assert seen == [(number, 0) for number in range(10)]
    assert seen[0][1].name == "OK"


def test_an_exception_in_a_callback_is_reported_and_kills_nothing(
    plugin: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    stream = dougong.Stream(plugin.device)
    stream.add_callback(lambda status: 1 / 0)
    stream.add_callback(lambda status: sys.exit(3))
    stream.synchronize()
    assert [report.exc_type for report in reports] == [ZeroDivisionError, SystemExit]
    assert values(dougong.tensor([1.0], device=plugin.device)) == [1.0]


def exhaust(device: dougong.Device) -> None:
    with pytest.raises(dougong.OutOfMemoryError):
        dougong.empty(10**9, device=device)


@pytest.mark.parametrize("wait", ["stream", "device", "copy to the host", "emptying the cache"])
def test_what_a_callback_drops_does_not_deadlock_with_who_waits(full: SimpleNamespace, wait: str) -> None:
    """As the garbage collector may do it on a thread of the plugin, which may not call the plugin there."""
    stream = dougong.Stream(full.device)
    with dougong.stream(stream):
        kept = dougong.tensor([1.0], device=full.device)
        dropped = [dougong.Stream(full.device), dougong.Event(full.device), dougong.tensor([2.0], device=full.device)]
        _core._record_stream(dropped[2], dougong.Stream(full.device))
        full.library.queue_set_delay(20)
        stream.add_callback(lambda status: dropped.clear())
        WAITS[wait](full, stream, stream.record_event(), kept)
    full.library.queue_set_delay(0)
    full.device.synchronize()
    del kept
    full.device.empty_cache()
    assert dropped == []


def test_what_a_callback_held_is_dropped_on_the_main_thread(full: SimpleNamespace) -> None:
    class Held:
        def __del__(self) -> None:
            dropped.append(threading.get_ident())

    dropped: list[int] = []
    stream, held = dougong.Stream(full.device), Held()
    full.library.queue_set_delay(5)
    stream.add_callback(lambda status, held=held: None)
    del held
    stream.synchronize()
    assert dropped == [threading.main_thread().ident]


WAITS = {
    "stream": lambda plugin, stream, event, tensor: stream.synchronize(),
    "event": lambda plugin, stream, event, tensor: event.synchronize(),
    "device": lambda plugin, stream, event, tensor: plugin.device.synchronize(),
    "everything": lambda plugin, stream, event, tensor: dougong.synchronize(),
    "copy to the host": lambda plugin, stream, event, tensor: tensor.numpy(),
    "emptying the cache": lambda plugin, stream, event, tensor: plugin.device.empty_cache(),
    "exhaustion": lambda plugin, stream, event, tensor: exhaust(plugin.device),
}


@pytest.mark.parametrize("wait", WAITS)
def test_whoever_waits_lets_python_run(full: SimpleNamespace, wait: str) -> None:
    """A callback that needs the interpreter lies before what is waited for, and another thread counts meanwhile."""
    stream = dougong.Stream(full.device)
    ran, counter, stop = [], [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counter[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    with dougong.stream(stream):
        tensor = dougong.tensor([1.0], device=full.device)
        full.library.queue_set_delay(50)
        stream.add_callback(lambda status: ran.append(status))
        event = stream.record_event()
        before = counter[0]
        WAITS[wait](full, stream, event, tensor)
        after = counter[0]
    stop.set()
    thread.join()
    assert ran == [0] and after > before


def test_objects_that_are_dropped_behind_a_callback_do_not_deadlock(full: SimpleNamespace) -> None:
    stream, ran = dougong.Stream(full.device), []
    full.library.queue_set_delay(30)
    with dougong.stream(stream):
        tensor = dougong.tensor([1.0], device=full.device)
        stream.add_callback(lambda status: ran.append(status))
        event = stream.record_event()
    del tensor, event, stream
    full.library.queue_set_delay(0)
    deadline = time.monotonic() + 5
    while not ran and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ran == [0]


def test_a_failure_of_queued_work_surfaces_once_where_it_is_waited_for(plugin: SimpleNamespace) -> None:
    for wait in (
        lambda: dougong.current_stream(plugin.device).synchronize(),
        plugin.device.synchronize,
        lambda: dougong.synchronize(plugin.device),
    ):
        plugin.library.queue_fail_next(dougong.OutOfRangeError.status)
        dougong.tensor([1.0], device=plugin.device)
        with pytest.raises(dougong.OutOfRangeError, match="failed with OUT_OF_RANGE: work on the stream failed"):
            wait()
        wait()
        assert values(dougong.tensor([1.0], device=plugin.device)) == [1.0]


def test_a_failure_surfaces_at_a_query(full: SimpleNamespace) -> None:
    stream = dougong.current_stream(full.device)
    full.library.queue_fail_next(dougong.OutOfRangeError.status)
    dougong.tensor([1.0], device=full.device)
    with pytest.raises(IndexError):
        while not stream.query():
            time.sleep(0.001)


def test_a_failure_that_the_allocator_meets_is_not_lost(full: SimpleNamespace) -> None:
    full.library.queue_fail_next(dougong.OutOfRangeError.status)
    dougong.tensor([1.0], device=full.device)
    full.device.empty_cache()
    with pytest.raises(dougong.OutOfRangeError):
        full.device.synchronize()
    full.device.synchronize()


def test_a_lost_device_stays_lost(run_python, named: Named) -> None:
    code = """
        import ctypes, sys, dougong
        dougong.load_plugin(sys.argv[1])
        ctypes.CDLL(sys.argv[1]).queue_fail_next(int(dougong.DeviceLostError.status))
        x = dougong.tensor([1.0], device="lost:0")
        for _ in range(2):
            try:
                dougong.synchronize("lost:0")
            except dougong.DeviceLostError:
                print("lost")
    """
    done = run_python(code, named("lost", source="queue"))
    assert done.stdout.split() == ["lost", "lost"]
    assert "lost:0 failed before the process ended" in done.stderr


def test_a_copy_between_devices_is_ordered_on_both_sides(plugin: SimpleNamespace) -> None:
    for _ in range(5):
        plugin.library.queue_set_delay(3)
        source = dougong.tensor([0.0] * 1000, device=plugin.device)
        stale = dougong.tensor([9.0] * 1000, device=plugin.other)
        x = stale + 3
        del stale, x
        copy = source.to(plugin.other)
        del source
        junk = dougong.tensor([7.0] * 1000, device=plugin.device)
        assert set(values(copy)) == {0.0}
        del junk


def test_copies_of_every_kind_between_plugins(plugin: SimpleNamespace, full: SimpleNamespace) -> None:
    base = dougong.tensor(np.arange(24, dtype=np.float32).reshape(4, 6))
    expected = base.numpy()
    for view in (lambda t: t, lambda t: t.T, lambda t: t[1:3, ::2], lambda t: t[:0]):
        for target in (plugin.other, full.device, "cpu:0"):
            assert np.array_equal(view(base.to(plugin.device)).to(target).numpy(), view(expected))
            assert np.array_equal(view(base).to(plugin.device).to(target).numpy(), view(expected))
    odd = dougong.tensor([1, 2, 3], dtype=dougong.uint8, device=plugin.device)
    assert odd[1:].to(full.device).numpy().tolist() == [2, 3]


def test_the_current_stream_is_of_the_thread_and_comes_back(full: SimpleNamespace) -> None:
    default = dougong.current_stream(full.device)
    a, b = dougong.Stream(full.device), dougong.Stream(full.device, priority=1000)
    seen = []
    with dougong.stream(a):
        assert dougong.current_stream(full.device) == a
        with dougong.stream(b), dougong.stream(None):
            assert dougong.current_stream(full.device) == b
        assert dougong.current_stream(full.device) == a
        thread = threading.Thread(target=lambda: seen.append(dougong.current_stream(full.device)))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="leave"), dougong.stream(b):
            raise RuntimeError("leave")
        assert dougong.current_stream(full.device) == a
    assert dougong.current_stream(full.device) == default and seen == [default]
    assert dougong.current_stream(full.other) != default and a != b and a.device == full.device
    assert len({a, b, default}) == 3


def test_work_of_a_dropped_stream_is_finished(full: SimpleNamespace) -> None:
    full.library.queue_set_delay(10)
    with dougong.stream(dougong.Stream(full.device)):
        x = dougong.tensor([4.0], device=full.device)
    gc.collect()
    full.device.synchronize()
    assert values(x) == [4.0]


def test_threads_may_share_a_stream(plugin: SimpleNamespace) -> None:
    failures = []

    def work(number: int) -> None:
        for step in range(50):
            expected = float(number * 100 + step)
            if values(dougong.tensor([expected], device=plugin.device)) != [expected]:
                failures.append((number, step))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and plugin.library.queue_violations() == 0


def test_streams_of_a_synchronous_device_are_empty_shells() -> None:
    stream = dougong.Stream("cpu")
    assert stream.handle == 0 and stream.query()
    seen = []
    with dougong.stream(stream):
        x = dougong.tensor([1.0]) + 1
        stream.add_callback(seen.append)
    assert values(x) == [2.0] and seen == [0]
    event = stream.record_event()
    stream.wait_event(event)
    dougong.current_stream("cpu").wait_stream(stream)
    assert event.query()
