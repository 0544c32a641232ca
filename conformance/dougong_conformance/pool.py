"""Worker processes with deadlines: a plugin that crashes, hangs or exits costs the case that it was in, no other."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .case import Case

STARTUP_DEADLINE = 120.0
QUIT_DEADLINE = 5.0
TICK = 0.1
LOG_TAIL = 4000
# A worker imports what its parent would, wherever that came from.
START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); import dougong_conformance.worker as w; w.main()"


@dataclass(frozen=True)
class Target:
    """What is judged: the device string's parts and the library."""

    name: str
    index: int
    library: Path

    @property
    def device(self) -> str:
        return f"{self.name}:{self.index}"


@dataclass
class Outcome:
    """How one case ended in its worker. ``died`` says that the process had to be replaced."""

    verdict: str
    error: str = ""
    detail: str = ""
    wants: str = ""
    seconds: float = 0.0
    fallbacks: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    died: bool = False
    hung: bool = False


class Process:
    """One worker. ``send`` starts a request; ``receive`` gives its reply, or how the process died or hung instead."""

    def __init__(self, target: Target, seed: int, strict: bool) -> None:
        self._log = tempfile.TemporaryFile()
        request_read, self._request = os.pipe()
        self.reply, reply_write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(sys.path), str(request_read), str(reply_write)],
            pass_fds=(request_read, reply_write),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(request_read)
        os.close(reply_write)
        os.set_blocking(self.reply, False)
        self._pending = b""
        self._since = self._deadline = 0.0
        self._setting_up = True
        self._what = "starting the worker"
        settings = {"library": str(target.library), "name": target.name, "index": target.index}
        self._write(do="setup", seed=seed, strict=strict, **settings)
        self._begin(STARTUP_DEADLINE)

    def send(self, deadline: float, **request: Any) -> None:
        """Waits for the worker to be ready, then gives it the request; its time runs from then."""
        while self._setting_up:
            reply = self.receive()
            if isinstance(reply, Outcome):
                raise RuntimeError(f"a worker process of the judge did not start: {reply.error}\n{reply.detail}")
            self._setting_up = reply is None
            if reply is None:
                time.sleep(0.002)
        self._write(**request)
        self._begin(deadline)

    def receive(self) -> dict[str, Any] | Outcome | None:
        """The reply; an Outcome if the process is gone or late; None while it is working."""
        line = self._read_line()
        if line is not None:
            return json.loads(line)
        if self._process.poll() is not None:
            line = self._read_line()
            return json.loads(line) if line is not None else self._outcome(_how_it_ended(self._process.returncode))
        if time.monotonic() - self._since > self._deadline:
            self.kill()
            return self._outcome(f"exceeded its deadline of {self._deadline:g} s", hung=True)
        return None

    def quit(self) -> Outcome | None:
        """Lets the process end by itself. An Outcome if it did not end well."""
        self._close_request()
        try:
            code = self._process.wait(QUIT_DEADLINE)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._outcome(f"the process had not ended {QUIT_DEADLINE:g} s after its last case", hung=True)
        return None if code == 0 else self._outcome(f"at the end of the process: {_how_it_ended(code)}")

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._close_request()
        os.close(self.reply)
        self._log.close()

    def _begin(self, deadline: float) -> None:
        self._since, self._deadline = time.monotonic(), deadline

    def _write(self, **request: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # receive() says how the process died
            os.write(self._request, json.dumps(request).encode() + b"\n")

    def _close_request(self) -> None:
        if self._request >= 0:
            os.close(self._request)
            self._request = -1

    def _read_line(self) -> bytes | None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.reply, 1 << 16):
                self._pending += data
        line, newline, rest = self._pending.partition(b"\n")
        if not newline:
            return None
        self._pending = rest
        return line

    def _outcome(self, error: str, hung: bool = False) -> Outcome:
        seconds = time.monotonic() - self._since
        return Outcome("fail", error, self._log_tail(), seconds=seconds, died=True, hung=hung)

    def _log_tail(self) -> str:
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - LOG_TAIL))
        printed = self._log.read().decode("utf-8", "replace").strip()
        return f"the process had printed:\n{printed}" if printed else ""


class Pool:
    """Runs cases on up to ``jobs`` workers, which live until the pool closes, the isolated cases' apart."""

    def __init__(self, target: Target, seed: int, strict: bool, deadline: float | None) -> None:
        self._new = lambda: Process(target, seed, strict)
        self._deadline = deadline
        self._idle: list[Process] = []

    def open_plugin(self, deadline: float) -> dict[str, Any]:
        """Opens plugin and device in a worker: the fields of the reply, ``verdict`` and ``error`` among them."""
        process = self._idle.pop() if self._idle else self._new()
        process.send(self._deadline or deadline, do="open")
        while (reply := process.receive()) is None:
            time.sleep(0.002)
        if isinstance(reply, Outcome):
            process.close()
            return vars(reply)
        self._idle.append(process)
        return reply

    def run(self, cases: Iterable[Case], jobs: int, done: Callable[[Case, Outcome], None], stop: Callable[[], bool]):
        """Calls ``done`` for each case as it ends, until all have or ``stop`` says so."""
        waiting, busy = deque(cases), {}
        with selectors.DefaultSelector() as selector:
            while (waiting or busy) and not stop():
                while waiting and len(busy) < jobs:
                    process = self._start(waiting.popleft(), busy)
                    selector.register(process.reply, selectors.EVENT_READ)
                selector.select(TICK)
                for process in list(busy):
                    self._collect(process, busy, selector, done)
        for process in busy:
            process.close()

    def _start(self, case: Case, busy: dict[Process, Case]) -> Process:
        process = self._new() if case.isolated or not self._idle else self._idle.pop()
        process.send(self._deadline or case.deadline, do="case", id=case.id, level=case.level)
        busy[process] = case
        return process

    def _collect(self, process: Process, busy: dict, selector: selectors.BaseSelector, done: Callable) -> None:
        reply = process.receive()
        if reply is None:
            return
        case = busy.pop(process)
        selector.unregister(process.reply)
        outcome = reply if isinstance(reply, Outcome) else _outcome_of(reply)
        if case.isolated and outcome.verdict != "fail":
            outcome = process.quit() or outcome
        if case.isolated or outcome.died:
            process.close()
        else:
            self._idle.append(process)
        done(case, outcome)

    def close(self) -> None:
        for process in self._idle:
            process.quit()
            process.close()
        self._idle = []


def _outcome_of(reply: dict[str, Any]) -> Outcome:
    return Outcome(**{name: value for name, value in reply.items() if name != "reply"})


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"the process died of {_signal_name(-code)}"
    return f"the plugin ended the process with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
