"""Level stream, events. Work is fills and copies; delays are gates, see gate.py."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ..buffer import expect_bytes
from ..case import Case, Context, Fail, Unsupported
from ..gate import Gate, becomes, require_streams
from ..native import C, CallError, Event, ffi, status_name
from ..session import Session
from .streams import KIB, Pinned

LEVEL = "stream"
DELAY = 0.05  # seconds


def cases(context: Context) -> Iterator[Case]:
    for name, rules, function in CASES:
        yield Case(f"stream/event/{name}", LEVEL, rules, function, summary=" ".join((function.__doc__ or "").split()))


def _require(session: Session, *slots: str) -> None:
    require_streams(session, "event_create", *slots)


def never_recorded(session: Session) -> None:
    """An event that was never recorded is complete, and waiting for it holds nothing up."""
    _require(session, "memory_fill")
    event, stream, buffer = session.event(), session.stream(), session.buffer(KIB)
    if not event.query():
        raise Fail("event_query of an event that was never recorded says NOT_READY, wanted: OK")
    event.synchronize()
    if session.device.has("stream_wait_event"):
        stream.wait(event)
    buffer.fill(b"\x01", KIB, stream=stream)
    if not becomes(stream.query):
        raise Fail("work behind a wait for an event that was never recorded is held up")
    expect_bytes("work behind the wait", buffer.read(), b"\x01" * KIB)


def not_before(session: Session) -> None:
    """An event is complete when the work before it is done: not before, and from then on."""
    _require(session, "stream_add_callback", "memory_fill")
    event, stream, buffer = session.event(), session.stream(), session.buffer(KIB)
    with Gate(stream) as gate:
        buffer.fill(b"\x02", KIB, stream=stream)
        event.record(stream)
        if any(event.query() for _ in range(100)) and gate.closed:
            raise Fail("event_query said OK while the work before the event was not done")
    if not becomes(event.query):
        raise Fail("event_query did not say OK within 10 s of the work's end, with nobody synchronizing")
    if not all(event.query() for _ in range(100)):
        raise Fail("event_query said NOT_READY after it had said OK, with nothing recorded anew")
    expect_bytes("the work before the event", buffer.read(), b"\x02" * KIB)


def synchronize_waits(session: Session) -> None:
    """event_synchronize returns after the recorded work, and does not wait for what was queued later."""
    _require(session, "stream_add_callback", "memory_fill")
    event, stream, buffer = session.event(), session.stream(), session.buffer(KIB)
    with Gate(stream) as gate:
        buffer.fill(b"\x03", KIB, stream=stream)
        event.record(stream)
        gate.open_after(DELAY)
        event.synchronize()
        if gate.closed:
            raise Fail("event_synchronize returned before the work before the event was done")
    event.record(stream)
    with Gate(stream) as gate:
        event.synchronize()
        if not gate.closed:
            raise Fail("event_synchronize waited for work that was queued after the event")


def covers_copies(session: Session) -> None:
    """A complete event means that a copy to pinned memory before it has arrived, in every byte."""
    _require(session, "memory_fill")
    for size in (4, 4097, 1 << 20, 4 << 20):
        pinned, stream, buffer = Pinned(session, size), session.stream(), session.buffer(size)
        event = session.event()
        for value in range(1, 11):
            pinned.bytes[:] = b"\xff" * size
            buffer.fill(bytes([value]), size, stream=stream)
            pinned.copy_out(buffer, stream)
            event.record(stream)
            event.synchronize()
            expect_bytes(f"{size} bytes in pinned memory after the event", bytes(pinned.bytes), bytes([value]) * size)


def again(session: Session) -> None:
    """Recording again replaces what was recorded: the event is open again until the new work is done."""
    _require(session, "stream_add_callback", "memory_fill")
    event, stream, buffer = session.event(), session.stream(), session.buffer(KIB)
    event.record(stream)
    event.synchronize()
    with Gate(stream) as gate:
        buffer.fill(b"\x04", KIB, stream=stream)
        event.record(stream)
        if event.query() and gate.closed:
            raise Fail("after recording again event_query answers for the first recording")
    if not becomes(event.query):
        raise Fail("an event that was recorded again did not complete")


def wait_orders(session: Session) -> None:
    """Work behind a wait sees what the other stream did before the event: a hundred rounds, each with a new value."""
    _require(session, "stream_wait_event", "memory_fill", "copy_device_to_device")
    producer, consumer, event = session.stream(), session.stream(), session.event()
    source, target = session.buffer(64 * KIB), session.buffer(64 * KIB)
    done = session.event()
    for i in range(100):
        value = bytes([i + 1])
        producer.wait(done)
        source.fill(value, source.size, stream=producer)
        event.record(producer)
        consumer.wait(event)
        target.copy_from(source, source.size, stream=consumer)
        done.record(consumer)
        expect_bytes(f"round {i} behind the wait", target.read(stream=consumer), value * target.size)


def wait_holds(session: Session) -> None:
    """Work behind a wait does not begin before the event is complete."""
    _require(session, "stream_wait_event", "stream_add_callback", "memory_fill", "copy_device_to_device")
    producer, consumer, event = session.stream(), session.stream(), session.event()
    source, target = session.buffer(KIB), session.buffer(KIB)
    source.write(b"\x01" * KIB)
    with Gate(producer) as gate:
        source.fill(b"\x02", KIB, stream=producer)
        event.record(producer)
        consumer.wait(event)
        target.copy_from(source, KIB, stream=consumer)
        time.sleep(DELAY)
        if consumer.query() and gate.closed:
            raise Fail("work behind a wait was done before the event was complete")
    consumer.synchronize()
    expect_bytes("what the work behind the wait saw", target.read(), b"\x02" * KIB)


def wait_keeps_first(session: Session) -> None:
    """A wait is for what the event had recorded at that call: recording it again later does not hold the stream up."""
    _require(session, "stream_wait_event", "stream_add_callback", "memory_fill")
    producer, consumer, event = session.stream(), session.stream(), session.event()
    buffer = session.buffer(KIB)
    event.record(producer)
    with Gate(consumer) as start, Gate(producer) as gate:
        consumer.wait(event)
        event.record(producer)
        start.open()
        buffer.fill(b"\x05", KIB, stream=consumer)
        consumer.synchronize()
        if not gate.closed:
            raise Fail("a wait for the first recording of an event waited for the second one")
    expect_bytes("the work behind the wait", buffer.read(), b"\x05" * KIB)


def wait_before_record(session: Session) -> None:
    """Waiting for an event that is recorded only afterwards holds nothing up."""
    _require(session, "stream_wait_event", "stream_add_callback", "memory_fill")
    producer, consumer, event = session.stream(), session.stream(), session.event()
    buffer = session.buffer(KIB)
    with Gate(consumer) as start, Gate(producer) as gate:
        consumer.wait(event)
        event.record(producer)
        start.open()
        buffer.fill(b"\x06", KIB, stream=consumer)
        consumer.synchronize()
        if not gate.closed:
            raise Fail("a wait was held up by a recording that came after it")
    expect_bytes("the work behind the wait", buffer.read(), b"\x06" * KIB)


def destroyed_while_waited(session: Session) -> None:
    """Destroying an event does not release a stream that waits for it, nor hold it up for ever."""
    _require(session, "stream_wait_event", "stream_add_callback", "memory_fill", "copy_device_to_device")
    producer, consumer, event = session.stream(), session.stream(), Event(session.device)
    source, target = session.buffer(KIB), session.buffer(KIB)
    source.write(b"\x01" * KIB)
    with Gate(producer) as gate:
        source.fill(b"\x07", KIB, stream=producer)
        event.record(producer)
        consumer.wait(event)
        target.copy_from(source, KIB, stream=consumer)
        event.close()
        time.sleep(DELAY)
        if consumer.query() and gate.closed:
            raise Fail("destroying the event released a stream that waited for it")
    consumer.synchronize()
    expect_bytes("what the work behind the wait saw", target.read(), b"\x07" * KIB)


def many(session: Session) -> None:
    """Ten thousand events outstanding; then all are complete."""
    _require(session, "stream_add_callback")
    stream, events = session.stream(), [session.event() for _ in range(10_000)]
    with Gate(stream) as gate:
        for event in events:
            event.record(stream)
        early = sum(event.query() for event in events[:: len(events) // 100])
        if early and gate.closed:
            raise Fail(f"{early} of 100 events said OK while the work before them was not done")
    stream.synchronize()
    late = sum(not event.query() for event in events)
    if late:
        raise Fail(f"{late} of {len(events)} events say NOT_READY after the stream was synchronized")


def elapsed(session: Session) -> None:
    """event_elapsed is at least what a known delay takes, below what the host measures, and adds up."""
    _require(session, "event_elapsed", "stream_add_callback")
    stream, events = session.stream(), [session.event(timing=True) for _ in range(3)]
    begin = time.perf_counter()
    for i, event in enumerate(events):
        event.record(stream)
        if i < 2:
            stream.add_callback(lambda status: time.sleep(DELAY))
    stream.synchronize()
    wall = (time.perf_counter() - begin) * 1000
    first, second = events[0].elapsed(events[1]), events[1].elapsed(events[2])
    total, delay = events[0].elapsed(events[2]), DELAY * 1000
    session.note(f"two delays of {delay:g} ms measured as {first:.3f} and {second:.3f} ms, together {total:.3f} ms")
    if not (0.8 * delay <= first <= wall * 1.1 and 0.8 * delay <= second <= wall * 1.1):
        raise Fail(f"delays of {delay:g} ms were measured as {first:g} and {second:g} ms, within {wall:.3g} ms in all")
    if abs(first + second - total) > 0.05 * total:
        raise Fail(f"the parts {first:g} ms and {second:g} ms do not add up to {total:g} ms")


def elapsed_early(session: Session) -> None:
    """event_elapsed says NOT_READY while one of the events is not complete."""
    _require(session, "event_elapsed", "stream_add_callback")
    stream, start, end = session.stream(), session.event(timing=True), session.event(timing=True)
    start.record(stream)
    with Gate(stream) as gate:
        end.record(stream)
        status = _elapsed_status(session, start, end)
        if gate.closed and status != C.DG_STATUS_NOT_READY:
            raise Fail(f"event_elapsed of an incomplete event returned {status_name(status)}, wanted: NOT_READY")
    stream.synchronize()
    if start.elapsed(end) < 0:
        raise Fail(f"event_elapsed is {start.elapsed(end)} ms, wanted: zero or more")


def elapsed_invalid(session: Session) -> None:
    """event_elapsed of an event never recorded, or made without timing, is INVALID_ARGUMENT, never a success."""
    _require(session, "event_elapsed")
    stream, good = session.stream(), session.event(timing=True)
    good.record(stream)
    untimed, unrecorded = session.event(timing=False), session.event(timing=True)
    untimed.record(stream)
    stream.synchronize()
    for what, start, end in (
        ("an event never recorded as start", unrecorded, good),
        ("an event never recorded as end", good, unrecorded),
        ("an event without timing as start", untimed, good),
        ("an event without timing as end", good, untimed),
    ):
        status = _elapsed_status(session, start, end)
        if status != C.DG_STATUS_INVALID_ARGUMENT:
            raise Fail(f"event_elapsed with {what} returned {status_name(status)}, wanted: INVALID_ARGUMENT")


def _elapsed_status(session: Session, start: Event, end: Event) -> int:
    return session.device.status_of("event_elapsed", start.handle, end.handle, ffi.new("double *"))


def across_devices(session: Session) -> None:
    """A wait for an event of another device of this plugin works, or says UNSUPPORTED; it is never ignored."""
    _require(session, "stream_wait_event", "stream_add_callback")
    count = session.plugin.device_count()
    if count < 2:
        raise Unsupported(f"two devices are needed, the plugin has {count}")
    other = session.own(session.plugin.open_device((session.index + 1) % count))
    producer, consumer, event = session.stream(device=other), session.stream(), session.event(device=other)
    with Gate(producer) as gate:
        event.record(producer)
        try:
            consumer.wait(event)
        except CallError as error:
            if error.status == C.DG_STATUS_UNSUPPORTED:
                raise Unsupported(error.sentence or "no waits across devices") from None
            raise
        time.sleep(DELAY)
        if consumer.query() and gate.closed:
            raise Fail("a wait for an event of another device was ignored")
    consumer.synchronize()


CASES = [
    ("never-recorded", ("EVT-001", "STR-006"), never_recorded),
    ("not-before-the-work", ("EVT-002",), not_before),
    ("synchronize", ("EVT-002",), synchronize_waits),
    ("covers-copies", ("EVT-002",), covers_copies),
    ("recorded-again", ("EVT-003",), again),
    ("10000-outstanding", ("EVT-002",), many),
    ("wait/orders", ("STR-005",), wait_orders),
    ("wait/holds", ("STR-005",), wait_holds),
    ("wait/keeps-the-first", ("STR-005", "EVT-003"), wait_keeps_first),
    ("wait/before-record", ("STR-005", "STR-006"), wait_before_record),
    ("wait/destroyed-event", ("EVT-004",), destroyed_while_waited),
    ("wait/across-devices", ("STR-005",), across_devices),
    ("elapsed/measures", ("EVT-005",), elapsed),
    ("elapsed/not-ready", ("EVT-005",), elapsed_early),
    ("elapsed/invalid", ("EVT-005",), elapsed_invalid),
]
