"""A gate on a stream: work queued behind it cannot have happened while the gate is closed.

It is a host callback that blocks until the judge opens it, so that a case never guesses how long a chip takes.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType

from .case import Unsupported
from .native import Stream
from .session import Session

PATIENCE = 3.0
SYNCHRONOUS = "the plugin is synchronous: stream slots are null"


def require_streams(session: Session, *slots: str) -> None:
    """Raises Unsupported on a synchronous device, and where one of these further slots is null."""
    if session.device.synchronous:
        raise Unsupported(SYNCHRONOUS)
    session.require(*slots)


class Gate:
    """``with Gate(stream) as gate`` queues it; it opens at ``gate.open()``, after a time, or as the block ends."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._caller = threading.get_ident()
        self._opened = threading.Event()
        self._inline = self._expired = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Gate:
        self._stream.add_callback(self._wait)
        if self._inline:
            raise Unsupported("callbacks run inside stream_add_callback: the streams finish their work at once")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.open()
        if self._timer:
            self._timer.cancel()
        if self._expired and error is None:
            raise Unsupported("a call that queues work waits for the work before it: nothing runs behind its back")

    def _wait(self, status: int) -> None:
        if threading.get_ident() == self._caller:
            self._inline = True
        elif not self._opened.wait(PATIENCE):
            self._expired = True

    @property
    def closed(self) -> bool:
        return not self._opened.is_set() and not self._expired

    def open(self) -> None:
        self._opened.set()

    def open_after(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.open)
        self._timer.daemon = True
        self._timer.start()


def becomes(question, seconds: float = 10.0) -> bool:
    """Whether ``question()`` is true within this time. Nobody synchronizes meanwhile."""
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.0005)
    return True
