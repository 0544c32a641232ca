"""Level memory: what is given back is given back, seen from the host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..case import Case, Context, Fail, NotRun
from ..session import Session

LEVEL = "memory"
BLOCK = 4 << 20
CYCLES = 48


def cases(context: Context) -> Iterator[Case]:
    summary = " ".join((gives_back.__doc__ or "").split())
    yield Case("memory/allocate/gives-back", LEVEL, ("MEM-013",), gives_back, summary=summary)


def gives_back(session: Session) -> None:
    """The process does not grow by allocating, writing and freeing: neither device memory nor what the plugin keeps
    beside it is lost."""
    _cycle(session)
    before = _resident()
    for _ in range(CYCLES):
        _cycle(session)
    grown = _resident() - before
    if grown > BLOCK * CYCLES // 2:
        raise Fail(
            f"the process grew by {grown >> 20} MiB while {CYCLES} blocks of {BLOCK >> 20} MiB were allocated and "
            "freed one after the other, wanted: memory_free to give them back"
        )


def _cycle(session: Session) -> None:
    handle = session.device.allocate(BLOCK)
    try:
        session.device.upload(handle, 0, bytes(BLOCK))
    finally:
        session.device.free(handle)


def _resident() -> int:
    """Bytes of this process that are in memory."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise NotRun(f"the size of the process is not known here: {error}") from None
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))
