"""A worker process: runs the cases that the parent names, one after the other, and says how each ended.

Requests and replies are lines of JSON on two pipes of their own, so that what a plugin prints goes to the log and
cannot disturb them. Its arguments are the two pipes' numbers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from .case import Case, Fail, NotRun, Unsupported, load_cases
from .session import Session


class Worker:
    def __init__(self, requests: int, replies: int) -> None:
        self._requests = os.fdopen(requests, "rb", buffering=0)
        self._replies = replies
        self._cases: dict[str, Case] = {}
        self._session: Session | None = None

    def serve(self) -> None:
        for line in self._requests:
            request = json.loads(line)
            getattr(self, f"_do_{request.pop('do')}")(**request)

    def _reply(self, **fields: Any) -> None:
        data = json.dumps(fields).encode() + b"\n"
        while data:
            data = data[os.write(self._replies, data) :]

    def _do_setup(self, **settings: Any) -> None:
        self._session = Session(**settings)
        self._reply(reply="ready")

    def _do_open(self) -> None:
        """Opens plugin and device, and says what they are."""
        verdict = _judge(self._open)
        self._reply(reply="opened", **verdict, **self._identity())

    def _open(self) -> None:
        count = self._session.plugin.device_count()
        if self._session.index >= count:
            raise NotRun(f"there is no device {self._session.device_string}: the plugin has {count}")
        self._session.device  # noqa: B018 - opens it

    def _identity(self) -> dict[str, str]:
        plugin = self._session.__dict__.get("plugin")
        try:
            return {"name": plugin.name, "version": plugin.version} if plugin else {}
        except Fail:
            return {}

    def _do_case(self, id: str, level: str) -> None:
        case = self._find(id, level)
        before = self._session.fallbacks()
        start = time.monotonic()
        self._session.begin(case)
        outcome = _judge(case.run, self._session)
        closing = _judge(self._session.end, failed=outcome["verdict"] == "fail")
        if outcome["verdict"] != "fail" and closing["verdict"] != "pass":
            outcome = closing
        fallbacks = self._session.fallbacks() - before
        if self._session.strict and fallbacks and outcome["verdict"] == "pass":
            outcome = _outcome("fail", "ran on the host: " + ", ".join(f"{op} x {n}" for op, n in fallbacks.items()))
        seconds = time.monotonic() - start
        self._reply(reply="ended", seconds=seconds, fallbacks=fallbacks, notes=self._session.notes, **outcome)

    def _find(self, id: str, level: str) -> Case:
        if id not in self._cases:
            self._cases.update((case.id, case) for case in load_cases([level], seed=self._session.seed))
        return self._cases[id]


def _judge(function: Any, *arguments: Any, **named: Any) -> dict[str, str]:
    """How a function ended, as the fields of a reply."""
    try:
        function(*arguments, **named)
    except Fail as fail:
        return _outcome("fail", fail.message, fail.detail or _place(fail))
    except Unsupported as unsupported:
        return _outcome("unsupported", unsupported.reason, wants=unsupported.wants)
    except NotRun as reason:
        return _outcome("not_run", reason.reason)
    except Exception as error:  # a case that breaks is a case that failed: the next one must still run
        return _outcome("fail", f"{type(error).__name__}: {error}", traceback.format_exc())
    return _outcome("pass", "")


def _outcome(verdict: str, error: str, detail: str = "", wants: str = "") -> dict[str, str]:
    return {"verdict": verdict, "error": error, "detail": detail, "wants": wants}


def _place(error: BaseException) -> str:
    """The line of the suite that raised."""
    frames: Iterator = (f for f in reversed(traceback.extract_tb(error.__traceback__)) if "suites" in f.filename)
    frame = next(frames, None)
    return f"at {os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}" if frame else ""


def _die_with_parent() -> None:
    if sys.platform == "linux":
        from cffi import FFI

        ffi = FFI()
        ffi.cdef("int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);")
        ffi.dlopen(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # 1 is PR_SET_PDEATHSIG


def main() -> None:
    _die_with_parent()
    Worker(int(sys.argv[1]), int(sys.argv[2])).serve()
