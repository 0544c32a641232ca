"""Level stream, streams and callbacks. Work is fills and copies; delays are gates, see gate.py."""

from __future__ import annotations

from collections.abc import Iterator

from ..buffer import Buffer, expect_bytes
from ..case import Case, Context, Fail, Unsupported
from ..gate import Gate, becomes, require_streams
from ..native import NULL, C, CallError, Device, Stream, ffi, status_name
from ..session import Session
from ..threads import in_threads

LEVEL = "stream"
KIB, MIB = 1 << 10, 1 << 20


def cases(context: Context) -> Iterator[Case]:
    for name, rules, function in CASES:
        yield Case(f"stream/{name}", LEVEL, rules, function, summary=" ".join((function.__doc__ or "").split()))


# ---- Synchronous devices -----------------------------------------------------------------------------------------


def done_on_return(session: Session) -> None:
    """A device without streams takes null for each stream, and has finished each call when it returns."""
    device = session.device
    if not device.synchronous:
        raise Unsupported("the device has streams")
    buffer = session.buffer(MIB)
    for round_ in range(20):
        data = session.rng().bytes(MIB - round_)
        device.call("copy_host_to_device", buffer.handle, buffer.offset, data, len(data), NULL)
        memory = bytearray(len(data))
        pointer = ffi.from_buffer(memory, require_writable=True)
        device.call("copy_device_to_host", pointer, buffer.handle, buffer.offset, len(data), NULL)
        expect_bytes("a synchronous round trip", bytes(memory), data)


# ---- Order -------------------------------------------------------------------------------------------------------


def first_in_first_out(session: Session) -> None:
    """A thousand fills of one place, each copied away before the next: each copy sees its own fill."""
    require_streams(session, "memory_fill", "copy_device_to_device")
    stream, cell, line = session.stream(), session.buffer(4), session.buffer(4 * 1000)
    for i in range(1000):
        cell.fill(i.to_bytes(4, "little"), 1, stream=stream)
        line.copy_from(cell, 4, at=4 * i, stream=stream)
    stream.synchronize()
    expect_bytes("1000 values in order", line.read(), b"".join(i.to_bytes(4, "little") for i in range(1000)))


def pinned_in_order(session: Session) -> None:
    """A copy from pinned memory carries what a copy before it on the stream has put there."""
    require_streams(session, "memory_fill")
    pinned, stream = Pinned(session, 64 * KIB), session.stream()
    source, target = session.buffer(64 * KIB), session.buffer(64 * KIB)
    for value in range(1, 30):
        source.fill(bytes([value]), source.size, stream=stream)
        pinned.copy_out(source, stream)
        pinned.copy_in(target, stream)
        stream.synchronize()
        expect_bytes("what went through pinned memory", target.read(), bytes([value]) * target.size)


class Pinned:
    """A pinned block, given back at the end of the case."""

    def __init__(self, session: Session, size: int) -> None:
        self._device, self.size = session.device, size
        try:
            handle = session.device.allocate(size, C.DG_MEMORY_HOST_PINNED)
        except CallError as error:
            if error.status in (C.DG_STATUS_UNSUPPORTED, C.DG_STATUS_UNIMPLEMENTED):
                raise Unsupported(error.sentence or "no pinned memory", wants="DG_MEMORY_HOST_PINNED") from None
            raise
        self.pointer = ffi.cast("uint8_t *", handle)
        self.bytes = ffi.buffer(self.pointer, size)
        session.own(self)

    def copy_out(self, source: Buffer, stream: Stream) -> None:
        """Device to pinned, queued."""
        self._device.queue("copy_device_to_host", self.pointer, source.handle, source.offset, self.size, stream=stream)

    def copy_in(self, target: Buffer, stream: Stream) -> None:
        """Pinned to device, queued."""
        self._device.queue("copy_host_to_device", target.handle, target.offset, self.pointer, self.size, stream=stream)

    def close(self) -> None:
        self._device.free(self.pointer, C.DG_MEMORY_HOST_PINNED)


def pageable_source_behind_work(session: Session) -> None:
    """Also behind unfinished work a pageable source may be overwritten when the copy has returned."""
    require_streams(session, "stream_add_callback")
    for size in (1, 4097, MIB):
        stream, buffer = session.stream(), session.buffer(size)
        data = session.rng().bytes(size)
        source = bytearray(data)
        with Gate(stream) as gate:
            gate.open_after(0.05)
            buffer.write(source, stream=stream)
            source[:] = b"\xee" * size
        stream.synchronize()
        expect_bytes(f"{size} bytes whose source was overwritten behind unfinished work", buffer.read(), data)


def pageable_destination_behind_work(session: Session) -> None:
    """Also behind unfinished work a pageable destination has been written when the copy has returned."""
    require_streams(session, "stream_add_callback", "memory_fill")
    for size in (1, 4097, MIB):
        stream, buffer = session.stream(), session.buffer(size)
        with Gate(stream) as gate:
            gate.open_after(0.05)
            buffer.fill(b"\x05", size, stream=stream)
            found = buffer.read(stream=stream)
        expect_bytes(f"{size} bytes read behind unfinished work", found, b"\x05" * size)


def independent(session: Session) -> None:
    """Two streams that work at a time, from two threads, do not disturb each other."""
    require_streams(session, "memory_fill", "copy_device_to_device")

    def work(tag: int, stream: Stream, cell: Buffer, line: Buffer) -> None:
        for i in range(300):
            cell.fill(bytes([tag, i & 0xFF]), KIB, stream=stream)
            line.copy_from(cell, 2, at=2 * i, stream=stream)
        stream.synchronize()

    parts = [(tag, session.stream(), session.buffer(2 * KIB), session.buffer(600)) for tag in range(1, 5)]
    in_threads([lambda part=part: work(*part) for part in parts])
    for tag, _, _, line in parts:
        expect_bytes(f"the work of stream {tag}", line.read(), b"".join(bytes([tag, i & 0xFF]) for i in range(300)))


def hundred_streams(session: Session) -> None:
    """A hundred streams with work at once."""
    require_streams(session, "memory_fill")
    parts = [(session.stream(), session.buffer(KIB)) for _ in range(100)]
    for i, (stream, buffer) in enumerate(parts):
        buffer.fill(bytes([i]), KIB, stream=stream)
    for i, (stream, buffer) in enumerate(parts):
        stream.synchronize()
        expect_bytes(f"the work of stream {i} of 100", buffer.read(), bytes([i]) * KIB)


def create_destroy_cycles(session: Session) -> None:
    """A thousand times create a stream, give it work, destroy it: all the work is done."""
    require_streams(session, "memory_fill")
    buffer = session.buffer(1000)
    for i in range(1000):
        stream = Stream(session.device)
        buffer.fill(bytes([i & 0xFF]), 1, at=i, stream=stream)
        stream.close()
    _settle(session.device)
    expect_bytes("the work of 1000 destroyed streams", buffer.read(), bytes(i & 0xFF for i in range(1000)))


def _settle(device: Device) -> None:
    """Waits for work on streams that are gone."""
    if not device.has("device_synchronize"):
        raise Unsupported("dg_device_api_t.device_synchronize is null", wants="dg_device_api_t.device_synchronize")
    device.call("device_synchronize")


def destroy_with_work(session: Session) -> None:
    """Work still queued on a destroyed stream is done by the time device_synchronize returns."""
    require_streams(session, "stream_add_callback", "memory_fill", "device_synchronize")
    for _ in range(5):
        stream, buffer = Stream(session.device), session.buffer(64 * KIB)
        with Gate(stream) as gate:
            buffer.fill(b"\x07", buffer.size, stream=stream)
            gate.open_after(0.05)
            stream.close()
            session.device.call("device_synchronize")
        expect_bytes("the work of a destroyed stream", buffer.read(), b"\x07" * buffer.size)


# ---- Query and synchronize ---------------------------------------------------------------------------------------


def query(session: Session) -> None:
    """stream_query says NOT_READY behind a closed gate, OK once the work is done, and goes on saying so."""
    require_streams(session, "stream_add_callback", "memory_fill")
    stream, buffer = session.stream(), session.buffer(KIB)
    if not becomes(stream.query):
        raise Fail("stream_query of a stream without work says NOT_READY for 10 s")
    with Gate(stream) as gate:
        buffer.fill(b"\x01", KIB, stream=stream)
        if any(stream.query() for _ in range(100)) and gate.closed:
            raise Fail("stream_query said OK while work queued before was not done")
    if not becomes(stream.query):
        raise Fail("stream_query did not say OK within 10 s of the work's end, with nobody synchronizing")
    if not all(stream.query() for _ in range(100)):
        raise Fail("stream_query said NOT_READY after it had said OK, with no new work")
    expect_bytes("the work that stream_query called done", buffer.read(), b"\x01" * KIB)


def synchronize_waits(session: Session) -> None:
    """stream_synchronize returns after the work queued before, not earlier."""
    require_streams(session, "stream_add_callback", "memory_fill")
    for _ in range(5):
        stream, buffer = session.stream(), session.buffer(KIB)
        with Gate(stream) as gate:
            buffer.fill(b"\x02", KIB, stream=stream)
            gate.open_after(0.05)
            stream.synchronize()
            if gate.closed:
                raise Fail("stream_synchronize returned before the work queued before it was done")
        expect_bytes("the work that stream_synchronize waited for", buffer.read(), b"\x02" * KIB)


def synchronize_alone(session: Session) -> None:
    """stream_synchronize does not wait for another stream."""
    require_streams(session, "stream_add_callback", "memory_fill")
    busy, other, buffer = session.stream(), session.stream(), session.buffer(KIB)
    with Gate(busy) as gate:
        buffer.fill(b"\x03", KIB, stream=other)
        other.synchronize()
        if not gate.closed:
            raise Fail("stream_synchronize of one stream waited for work on another")
    expect_bytes("the work of the other stream", buffer.read(), b"\x03" * KIB)


def device_synchronize(session: Session) -> None:
    """device_synchronize returns when the work of all streams is done."""
    require_streams(session, "stream_add_callback", "memory_fill", "device_synchronize")
    streams = [session.stream() for _ in range(4)]
    buffers = [session.buffer(KIB) for _ in streams]
    for position in range(len(streams)):
        with Gate(streams[position]) as gate:
            for stream, buffer in zip(streams, buffers, strict=True):
                buffer.fill(bytes([position + 1]), KIB, stream=stream)
            gate.open_after(0.05)
            session.device.call("device_synchronize")
            if gate.closed:
                raise Fail(f"device_synchronize returned while stream {position} of {len(streams)} had work to do")
        for buffer in buffers:
            expect_bytes("work that device_synchronize waited for", buffer.read(), bytes([position + 1]) * KIB)


def priorities(session: Session) -> None:
    """Every priority is accepted, in the device's range and out of it, and such a stream works."""
    require_streams(session, "memory_fill")
    known = session.device.properties()
    wide = (-(2**31), -1000, -1, 0, 1, 1000, 2**31 - 1)
    for priority in (known.lowest_priority, known.highest_priority, *wide):
        stream, buffer = session.stream(priority), session.buffer(KIB)
        buffer.fill(b"\x09", KIB, stream=stream)
        stream.synchronize()
        expect_bytes(f"the work of a stream of priority {priority}", buffer.read(), b"\x09" * KIB)


def threads(session: Session) -> None:
    """Eight threads create streams, work, query, synchronize and destroy at a time."""
    require_streams(session, "memory_fill")

    def work(tag: int, buffer: Buffer) -> None:
        for i in range(50):
            stream = Stream(session.device)
            buffer.fill(bytes([tag, i]), KIB, stream=stream)
            stream.query()
            found = buffer.read(stream=stream)
            stream.close()
            expect_bytes(f"thread {tag}, round {i}", found, bytes([tag, i]) * KIB)

    buffers = [session.buffer(2 * KIB) for _ in range(8)]
    in_threads([lambda tag=tag, buffer=buffer: work(tag, buffer) for tag, buffer in enumerate(buffers)])


# ---- Callbacks ---------------------------------------------------------------------------------------------------


def callbacks_once(session: Session) -> None:
    """A hundred callbacks run in order, each once, each with its own user data and status OK."""
    require_streams(session, "stream_add_callback")
    stream, calls = session.stream(), []
    function = ffi.callback("void(void *, dg_status_t)", lambda data, status: calls.append((data, status)))
    numbers = [ffi.cast("void *", 1000 + i) for i in range(100)]
    for number in numbers:
        session.device.call("stream_add_callback", stream.handle, function, number)
    stream.synchronize()
    if [data for data, _ in calls] != numbers:
        order = [int(ffi.cast("uintptr_t", data)) - 1000 for data, _ in calls]
        raise Fail(f"100 callbacks ran as {order[:12]}... ({len(calls)} calls), wanted: 0 to 99, each once")
    wrong = {status for _, status in calls} - {C.DG_STATUS_OK}
    if wrong:
        raise Fail(f"callbacks of a healthy stream got {', '.join(map(status_name, wrong))}, wanted: DG_STATUS_OK")


def callback_between(session: Session) -> None:
    """A callback runs after the work before it and before the work behind it."""
    require_streams(session, "stream_add_callback", "memory_fill")
    pinned, stream, buffer = Pinned(session, 64 * KIB), session.stream(), session.buffer(64 * KIB)
    seen: list[bytes] = []
    for value in range(1, 41):
        buffer.fill(bytes([value]), buffer.size, stream=stream)
        pinned.copy_out(buffer, stream)
        stream.add_callback(lambda status: seen.append(bytes(pinned.bytes)))
    stream.synchronize()
    if len(seen) != 40:
        raise Fail(f"{len(seen)} of 40 callbacks had run when stream_synchronize returned")
    for value, found in enumerate(seen, 1):
        expect_bytes(f"what callback {value} saw of the work before it", found, bytes([value]) * buffer.size)


CASES = [
    ("synchronous/done-on-return", ("STR-001",), done_on_return),
    ("order/first-in-first-out", ("STR-002",), first_in_first_out),
    ("order/pinned", ("STR-002", "MEM-011"), pinned_in_order),
    ("order/pageable-source", ("MEM-010", "STR-002"), pageable_source_behind_work),
    ("order/pageable-destination", ("MEM-010", "STR-002"), pageable_destination_behind_work),
    ("order/independent", ("STR-002", "DEV-006"), independent),
    ("order/100-streams", ("STR-002",), hundred_streams),
    ("life/1000-cycles", ("STR-009",), create_destroy_cycles),
    ("life/destroy-with-work", ("STR-009",), destroy_with_work),
    ("life/priorities", ("STR-008",), priorities),
    ("life/8-threads", ("DEV-006", "STR-002"), threads),
    ("query/tells-the-truth", ("STR-003",), query),
    ("synchronize/waits", ("STR-004",), synchronize_waits),
    ("synchronize/not-for-others", ("STR-004",), synchronize_alone),
    ("synchronize/device", ("DEV-005",), device_synchronize),
    ("callback/once-in-order", ("STR-007",), callbacks_once),
    ("callback/between-work", ("STR-007", "STR-002"), callback_between),
]
