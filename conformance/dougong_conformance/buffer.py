"""Device memory with canaries round it and poison in it."""

from __future__ import annotations

from typing import Any

from .case import Fail
from .native import Device, Stream

GUARD = 256
# Of prime length, so that the bands do not look the same after a shift by a power of two.
CANARY = bytes((0x5A ^ (i * 37)) & 0xFF for i in range(251))


class Buffer:
    """``size`` bytes at ``offset`` of an allocation, between two guard bands.

    The bytes are poisoned with ``poison`` (0xFF is NaN in every float type), so that what a kernel or copy leaves out
    is seen; ``check`` looks at the bands, so that what it writes beside is seen; a session calls it for each buffer.
    ``shift`` moves the data off its alignment by so many bytes.
    """

    def __init__(self, device: Device, size: int, poison: int = 0xFF, shift: int = 0) -> None:
        self.device = device
        self.size = size
        self.offset = _round_up(GUARD, device.alignment) + shift
        self._after = GUARD
        self.handle = device.allocate(self.offset + size + self._after)
        self._before_bytes, self._after_bytes = _canary(self.offset), _canary(self._after)
        device.upload(self.handle, 0, self._before_bytes + bytes([poison]) * size + self._after_bytes)

    def write(self, data: Any, at: int = 0, stream: Stream | None = None) -> None:
        """Copies host bytes into the buffer at byte ``at``."""
        self.device.upload(self.handle, self.offset + at, data, stream)

    def read(self, at: int = 0, size: int | None = None, stream: Stream | None = None) -> bytes:
        size = self.size - at if size is None else size
        return self.device.download(self.handle, self.offset + at, size, stream)

    def fill(self, pattern: bytes, count: int, at: int = 0, stream: Stream | None = None) -> None:
        self.device.fill(self.handle, self.offset + at, pattern, count, stream)

    def copy_from(self, other: Buffer, size: int, at: int = 0, source_at: int = 0, stream: Stream | None = None):
        self.device.copy(self.handle, self.offset + at, other.handle, other.offset + source_at, size, stream)

    def check(self) -> None:
        """Raises Fail where a byte outside the buffer was written."""
        before = self.device.download(self.handle, 0, self.offset)
        after = self.device.download(self.handle, self.offset + self.size, self._after)
        for place, found, wanted in (("before", before, self._before_bytes), ("after", after, self._after_bytes)):
            if found != wanted:
                raise Fail(*_describe(place, found, wanted))

    def close(self) -> None:
        if self.handle is not None:
            handle, self.handle = self.handle, None
            self.device.free(handle)


def first_difference(found: bytes, wanted: bytes) -> int:
    """The index of the first byte that differs; the shorter length where one is the beginning of the other."""
    for i, (a, b) in enumerate(zip(found, wanted, strict=False)):
        if a != b:
            return i
    return min(len(found), len(wanted))


def expect_bytes(what: str, found: bytes, wanted: bytes) -> None:
    """Raises Fail, with the place of the first wrong byte, unless both are equal."""
    if found == wanted:
        return
    i = first_difference(found, wanted)
    wrong = sum(a != b for a, b in zip(found, wanted, strict=False)) + abs(len(found) - len(wanted))
    detail = f"found  ...{found[i : i + 16].hex(' ')}\nwanted ...{wanted[i : i + 16].hex(' ')}"
    raise Fail(f"{what}: byte {i} is wrong, and {wrong} of {len(wanted)} bytes in all", detail)


def _describe(place: str, found: bytes, wanted: bytes) -> tuple[str, str]:
    wrong = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
    distance = len(wanted) - wrong[-1] if place == "before" else wrong[0] + 1
    message = f"{len(wrong)} bytes {place} the buffer were overwritten, the nearest {distance} byte(s) {place} it"
    span = slice(wrong[0], wrong[0] + 16)
    return message, f"found  {found[span].hex(' ')}\nwanted {wanted[span].hex(' ')}"


def _canary(size: int) -> bytes:
    return (CANARY * (size // len(CANARY) + 1))[:size]


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
