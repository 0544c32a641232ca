"""Level memory: allocation, copies and fills, byte by byte. No kernel is needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..buffer import expect_bytes
from ..case import Case, Context, Fail, Unsupported
from ..native import C, CallError, Device, ffi, status_name, stream_handle
from ..session import Session
from ..threads import in_threads

LEVEL = "memory"
SIZES = (1, 3, 4, 63, 64, 65, 4095, 4096, 4097, (1 << 20) + 1)
OFFSETS = (0, 1, 3, 4)
PATTERN_SIZES = (1, 2, 4, 8, 16)
HUGE = (1 << 62, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 64)


def cases(context: Context) -> Iterator[Case]:
    for name, rules, function in CASES:
        yield _case(name, rules, function)
    for size in SIZES:
        for name, rules, function in SIZED:
            yield _case(f"{name}/{size}", rules, partial(function, size=size))
    for size in PATTERN_SIZES:
        yield _case(f"fill/pattern-{size}", ("MEM-008", "MEM-004"), partial(fill, size=size))


def _case(name: str, rules: tuple[str, ...], function: Callable) -> Case:
    documented = getattr(function, "func", function)
    return Case(f"memory/{name}", LEVEL, rules, function, summary=" ".join((documented.__doc__ or "").split()))


# ---- Allocation --------------------------------------------------------------------------------------------------


def alignment(session: Session) -> None:
    """Every allocation of 1 to 4097 bytes begins at a multiple of the device's alignment."""
    device = session.device
    if device.properties().capabilities & C.DG_DEVICE_OPAQUE_MEMORY:
        raise Unsupported("handles are not addresses (DG_DEVICE_OPAQUE_MEMORY)")
    for size in (*range(1, 130), 255, 256, 257, 1000, 4095, 4096, 4097):
        handle = device.allocate(size)
        address = int(ffi.cast("uintptr_t", handle))
        device.free(handle)
        if address % device.alignment:
            raise Fail(f"an allocation of {size} bytes is at {address:#x}, not a multiple of {device.alignment}")


def distinct(session: Session) -> None:
    """Live allocations of all sizes share no byte: each keeps what was written to it."""
    device = session.device
    sizes = [*range(1, 66), 64, 64, 127, 128, 129, 1000, 4095, 4096, 4096, 4096, 4097, 65537, 65537]
    held = []
    for number, size in enumerate(sizes):
        held.append((device.allocate(size), _tagged(number, size)))
        device.upload(held[-1][0], 0, held[-1][1])
    for handle, data in held:
        found = device.download(handle, 0, len(data))
        expect_bytes(f"an allocation of {len(data)} bytes among {len(held)}", found, data)
    if len({int(ffi.cast("uintptr_t", handle)) for handle, _ in held}) != len(held):
        raise Fail("two live allocations have one handle")
    for handle, _ in held:
        device.free(handle)


def _tagged(number: int, size: int) -> bytes:
    """Bytes that differ from place to place and from one ``number`` to the next."""
    return bytes((number * 31 + i * 7 + (i >> 8)) & 0xFF for i in range(size))


def out_of_memory(session: Session) -> None:
    """A request that no device can meet is OUT_OF_MEMORY, writes nothing, and a small one then works."""
    marker = ffi.cast("void *", 0x5A5A)
    for size in HUGE:
        out = ffi.new("void **", marker)
        status = session.device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, size, out)
        if status != C.DG_STATUS_OUT_OF_MEMORY:
            raise Fail(f"an allocation of {size:#x} bytes returned {status_name(status)}, wanted: OUT_OF_MEMORY")
        if out[0] != marker:
            raise Fail(f"the failed allocation of {size:#x} bytes wrote its out parameter")
        _works(session)


def _works(session: Session) -> None:
    buffer = session.buffer(1000)
    data = _tagged(1, 1000)
    buffer.write(data)
    expect_bytes("a copy after the failure", buffer.read(), data)


def more_than_there_is(session: Session) -> None:
    """Twice the device's memory is OUT_OF_MEMORY."""
    total = int(session.device.properties().memory_total)
    if not total:
        raise Unsupported("the properties do not say how much memory there is (memory_total)")
    status = session.device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, 2 * total, ffi.new("void **"))
    if status != C.DG_STATUS_OUT_OF_MEMORY:
        raise Fail(f"twice the memory, {2 * total} bytes, gave {status_name(status)}, wanted: OUT_OF_MEMORY")
    _works(session)


def unknown_kind(session: Session) -> None:
    """A memory kind that the headers do not know is UNSUPPORTED."""
    for kind in (2, 99, -1, 2**31 - 1):
        status = session.device.status_of("memory_allocate", kind, 64, ffi.new("void **"))
        if status != C.DG_STATUS_UNSUPPORTED:
            raise Fail(f"memory_allocate of kind {kind} returned {status_name(status)}, wanted: UNSUPPORTED")


def cycles(session: Session) -> None:
    """Ten thousand times allocate and free: the device does not run out, and its free memory returns."""
    device = session.device
    block = _block_size(device)
    for i in range(10_000):
        device.free(device.allocate(1 + (i * 7919) % block))
    for _ in range(50):  # fifty times half of the device, where the block is that large
        device.free(device.allocate(block))
    _works(session)


def _block_size(device: Device) -> int:
    total = int(device.properties().memory_total)
    return min(total // 2, 64 << 20) if total else 1 << 20


def from_threads(session: Session) -> None:
    """Eight threads allocate, ask and free at a time: no two hold one piece of memory."""
    device = session.device
    held: set[int] = set()
    lock = threading.Lock()

    def work(tag: int) -> None:
        for i in range(300):
            handle = device.allocate(1 + (i * 997 + tag * 131) % 65536)
            address = int(ffi.cast("uintptr_t", handle))
            with lock:
                if address in held:
                    raise Fail("two threads were given one handle at a time")
                held.add(address)
            device.properties()
            with lock:
                held.remove(address)
            device.free(handle)

    in_threads([partial(work, tag) for tag in range(8)])
    _works(session)


def all_usable(session: Session) -> None:
    """Every byte of a large allocation can be used, the last ones too."""
    size = min(_block_size(session.device), 16 << 20)
    buffer = session.buffer(size)
    data = _tagged(3, 4096)
    for at in (0, size // 2 - 1, size - len(data)):
        buffer.write(data, at)
        expect_bytes(f"4096 bytes at {at} of {size}", buffer.read(at, len(data)), data)


def info(session: Session) -> None:
    """memory_get_info: free is at most total."""
    free, total = _info(session)
    if free > total:
        raise Fail(f"memory_get_info says that {free} of {total} bytes are free")


def info_follows(session: Session) -> None:
    """Free memory drops by what is allocated, and comes back: allocating and freeing loses nothing."""
    device = session.device
    if device.properties().capabilities & C.DG_DEVICE_HOST_ACCESSIBLE:
        raise Unsupported("device memory is the host's, which other programs take and give back meanwhile")
    before, _ = _info(session)
    size = min(max(before // 4, 1), 64 << 20)
    device.free(device.allocate(size))  # whatever the plugin sets up once
    before, _ = _info(session)
    handle = device.allocate(size)
    during, _ = _info(session)
    device.free(handle)
    after, _ = _info(session)
    if before - during < size:
        raise Fail(f"after an allocation of {size} bytes free memory went from {before} to {during}")
    if after + size // 2 < before:
        raise Fail(f"free memory was {before} before an allocation and {after} after it was given back")


def _info(session: Session) -> tuple[int, int]:
    session.require("memory_get_info")
    return session.device.memory_info()


# ---- Copies ------------------------------------------------------------------------------------------------------


def round_trip(session: Session, size: int) -> None:
    """Host to device and back, at byte offsets 0, 1, 3 and 4, moves exactly these bytes and nothing beside them."""
    for offset in OFFSETS:
        buffer = session.buffer(size + offset + 5)
        data = session.rng().bytes(size)
        buffer.write(data, offset)
        what = f"{size} bytes copied to offset {offset} and back"
        expect_bytes(what, buffer.read(), b"\xff" * offset + data + b"\xff" * 5)
        expect_bytes(f"{what}, read alone", buffer.read(offset, size), data)


def host_stays_clean(session: Session, size: int) -> None:
    """A copy to the host writes nothing before or after its destination, at odd addresses too."""
    buffer = session.buffer(size)
    data = session.rng().bytes(size)
    buffer.write(data)
    for offset in OFFSETS:
        memory = bytearray(b"\xa5" * (size + 128))
        target = ffi.from_buffer(memory, require_writable=True) + 64 + offset
        session.device.queue("copy_device_to_host", target, buffer.handle, buffer.offset, size, stream=None)
        wanted = b"\xa5" * (64 + offset) + data + b"\xa5" * (64 - offset)
        expect_bytes(f"{size} bytes copied to a host address of offset {offset}", bytes(memory), wanted)


def device_to_device(session: Session, size: int) -> None:
    """Between two allocations, at all pairs of byte offsets, exactly these bytes."""
    session.require("copy_device_to_device")
    source, target = session.buffer(size + 8), session.buffer(size + 8)
    data = session.rng().bytes(size + 8)
    source.write(data)
    for source_at in OFFSETS:
        for at in OFFSETS:
            target.write(b"\xff" * (size + 8))
            target.copy_from(source, size, at, source_at)
            wanted = b"\xff" * at + data[source_at : source_at + size] + b"\xff" * (8 - at)
            expect_bytes(f"{size} bytes from offset {source_at} to {at} on the device", target.read(), wanted)
    expect_bytes("the source of the copies", source.read(), data)


def within_one(session: Session, size: int) -> None:
    """Between two ranges of one allocation that do not overlap, forwards and backwards."""
    session.require("copy_device_to_device")
    buffer = session.buffer(2 * size + 9)
    data = session.rng().bytes(2 * size + 9)
    for at, source_at in ((0, size + 3), (size + 3, 0), (size, 0), (0, size)):
        buffer.write(data)
        buffer.copy_from(buffer, size, at, source_at)
        wanted = bytearray(data)
        wanted[at : at + size] = data[source_at : source_at + size]
        expect_bytes(f"{size} bytes from {source_at} to {at} in one allocation", buffer.read(), bytes(wanted))


def source_overwritten(session: Session, size: int) -> None:
    """A pageable source may be overwritten as soon as the copy has returned."""
    device = session.device
    stream = device.own_stream
    for _ in range(10):
        buffer = session.buffer(size)
        data = session.rng().bytes(size)
        source = bytearray(data)
        pointer = ffi.from_buffer(source, require_writable=True)
        device.call("copy_host_to_device", buffer.handle, buffer.offset, pointer, size, stream_handle(stream))
        ffi.memmove(pointer, b"\xee" * size, size)
        expect_bytes(f"{size} bytes whose source was overwritten after the call", buffer.read(), data)


def destination_written(session: Session, size: int) -> None:
    """A pageable destination has been written when the copy has returned, with no synchronization."""
    device = session.device
    buffer = session.buffer(size)
    for _ in range(10):
        data = session.rng().bytes(size)
        buffer.write(data)
        memory = bytearray(size)
        pointer = ffi.from_buffer(memory, require_writable=True)
        stream = stream_handle(device.own_stream)
        device.call("copy_device_to_host", pointer, buffer.handle, buffer.offset, size, stream)
        expect_bytes(f"{size} bytes read right after the copy's return", bytes(memory), data)


def pinned(session: Session, size: int) -> None:
    """Pinned memory is host memory: the host fills and reads it, and copies carry what it holds."""
    device = session.device
    memory = _allocate_pinned(session, size)
    host = ffi.buffer(memory, size)
    buffer = session.buffer(size)
    data = session.rng().bytes(size)
    host[:] = data
    device.queue("copy_host_to_device", buffer.handle, buffer.offset, memory, size, stream=None)
    host[:] = b"\xee" * size
    expect_bytes(f"{size} bytes copied from pinned memory", buffer.read(), data)
    device.queue("copy_device_to_host", memory, buffer.handle, buffer.offset, size, stream=None)
    expect_bytes(f"{size} bytes copied to pinned memory", bytes(host), data)
    device.free(memory, C.DG_MEMORY_HOST_PINNED)


def _allocate_pinned(session: Session, size: int):
    try:
        return ffi.cast("uint8_t *", session.device.allocate(size, C.DG_MEMORY_HOST_PINNED))
    except CallError as error:
        if error.status in (C.DG_STATUS_UNSUPPORTED, C.DG_STATUS_UNIMPLEMENTED):
            raise Unsupported(error.sentence or "no DG_MEMORY_HOST_PINNED", wants="DG_MEMORY_HOST_PINNED") from None
        raise


def pinned_inside(session: Session) -> None:
    """Copies to and from the middle of a pinned block are exact."""
    device = session.device
    memory = _allocate_pinned(session, 8192)
    host = ffi.buffer(memory, 8192)
    host[:] = _tagged(5, 8192)
    buffer = session.buffer(1001)
    device.queue("copy_host_to_device", buffer.handle, buffer.offset, memory + 4097, 1001, stream=None)
    expect_bytes("1001 bytes from the middle of a pinned block", buffer.read(), bytes(host[4097 : 4097 + 1001]))
    before = bytes(host)
    device.queue("copy_device_to_host", memory + 3, buffer.handle, buffer.offset, 1001, stream=None)
    wanted = before[:3] + before[4097 : 4097 + 1001] + before[1004:]
    expect_bytes("a pinned block after a copy into its middle", bytes(host), wanted)
    device.free(memory, C.DG_MEMORY_HOST_PINNED)


def peer(session: Session) -> None:
    """Between two devices, both ways, at odd offsets."""
    count = session.plugin.device_count()
    if count < 2:
        raise Unsupported(f"two devices are needed, the plugin has {count}")
    session.require("copy_peer")
    here = session.device
    there = session.own(session.plugin.open_device((session.index + 1) % count))
    for target, source in ((here, there), (there, here)):
        for size in (1, 63, 4097, (1 << 20) + 1):
            _copy_peer(session, target, source, size)


def _copy_peer(session: Session, target: Device, source: Device, size: int) -> None:
    origin, copy = session.buffer(size, device=source), session.buffer(size + 4, device=target)
    data = session.rng().bytes(size)
    origin.write(data)
    places = (copy.handle, copy.offset + 3, source.handle, origin.handle, origin.offset, size)
    try:
        target.queue("copy_peer", *places, stream=None)
    except CallError as error:
        if error.status == C.DG_STATUS_UNSUPPORTED:
            raise Unsupported(error.sentence or "these two devices are not connected") from None
        raise
    expect_bytes(f"{size} bytes copied between devices", copy.read(), b"\xff" * 3 + data + b"\xff")


def host_view(session: Session) -> None:
    """With DG_DEVICE_HOST_ACCESSIBLE the host reads and writes device memory at its address."""
    capabilities = session.device.properties().capabilities
    if not capabilities & C.DG_DEVICE_HOST_ACCESSIBLE:
        raise Unsupported("device memory is not accessible to the host (no DG_DEVICE_HOST_ACCESSIBLE)")
    if capabilities & C.DG_DEVICE_OPAQUE_MEMORY:
        raise Fail("DG_DEVICE_HOST_ACCESSIBLE and DG_DEVICE_OPAQUE_MEMORY exclude each other, both are set")
    buffer = session.buffer(1001)
    buffer.write(_tagged(6, 1001))
    host = ffi.buffer(ffi.cast("uint8_t *", buffer.handle) + buffer.offset, 1001)
    expect_bytes("what the host sees of device memory", bytes(host), _tagged(6, 1001))
    host[:] = _tagged(7, 1001)
    expect_bytes("what the device sees of the host's writing", buffer.read(), _tagged(7, 1001))


# ---- Fills -------------------------------------------------------------------------------------------------------


def fill(session: Session, size: int) -> None:
    """Patterns of this many bytes, in odd counts, at each offset they may have; neighbours stay."""
    session.require("memory_fill")
    pattern = bytes(range(0xA1, 0xA1 + size))
    for count in (1, 2, 3, 5, 63, 64, 65, 1023, 4097, 65537):
        for start in (0, 1, 3):
            length = (count + start) * size
            buffer = session.buffer(length + 7)
            buffer.fill(pattern, count, start * size)
            wanted = b"\xff" * (start * size) + pattern * count + b"\xff" * 7
            expect_bytes(f"{count} patterns of {size} bytes at offset {start * size}", buffer.read(), wanted)
            buffer.check()


def fill_pattern_read(session: Session) -> None:
    """The pattern is read during the call: overwriting it afterwards changes nothing."""
    session.require("memory_fill")
    device = session.device
    buffer = session.buffer(1 << 20)
    pattern = ffi.new("uint8_t[16]", bytes(range(16)))
    stream = device.own_stream
    device.call("memory_fill", buffer.handle, buffer.offset, pattern, 16, 1 << 16, stream_handle(stream))
    ffi.memmove(pattern, b"\xee" * 16, 16)
    if stream:
        stream.synchronize()
    expect_bytes("a fill whose pattern was overwritten after the call", buffer.read(), bytes(range(16)) * (1 << 16))


def copies_from_threads(session: Session) -> None:
    """Eight threads copy at a time on a synchronous device that says it bears that: each reads what it wrote."""
    device = session.device
    if device.own_stream or not device.properties().capabilities & C.DG_DEVICE_CONCURRENT:
        raise Unsupported("the device is not synchronous, or does not declare DG_DEVICE_CONCURRENT")

    def work(buffer: Any, tag: int) -> None:
        for i in range(100):
            data = bytes([(tag * 31 + i) % 256]) * 4099
            buffer.write(data)
            expect_bytes(f"round {i} of thread {tag}", buffer.read(), data)

    in_threads([partial(work, session.buffer(4099), tag) for tag in range(8)])


CASES = [
    ("allocate/alignment", ("MEM-002",), alignment),
    ("allocate/distinct", ("MEM-001",), distinct),
    ("allocate/all-usable", ("MEM-001", "MEM-004"), all_usable),
    ("allocate/huge", ("MEM-003",), out_of_memory),
    ("allocate/more-than-there-is", ("MEM-003",), more_than_there_is),
    ("allocate/unknown-kind", ("MEM-005",), unknown_kind),
    ("allocate/8-threads", ("DEV-006", "MEM-001"), from_threads),
    ("allocate/10000-cycles", ("MEM-013",), cycles),
    ("info/free-and-total", ("MEM-009",), info),
    ("info/follows-allocation", ("MEM-009", "MEM-013"), info_follows),
    ("copy/pinned-inside", ("MEM-011", "MEM-004"), pinned_inside),
    ("copy/peer", ("MEM-012",), peer),
    ("copy/8-threads", ("DEV-007",), copies_from_threads),
    ("host/view", ("MEM-014",), host_view),
    ("fill/pattern-read", ("MEM-008",), fill_pattern_read),
]

SIZED = [
    ("copy/round-trip", ("MEM-006", "MEM-004"), round_trip),
    ("copy/host-stays-clean", ("MEM-006",), host_stays_clean),
    ("copy/device", ("MEM-007", "MEM-004"), device_to_device),
    ("copy/within-one", ("MEM-007",), within_one),
    ("copy/source-overwritten", ("MEM-010",), source_overwritten),
    ("copy/destination-written", ("MEM-010",), destination_written),
    ("copy/pinned", ("MEM-011",), pinned),
]
