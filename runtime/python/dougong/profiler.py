"""Where time goes.

    with dougong.profiler.profile() as prof:
        step()
    prof.export_chrome_trace("trace.json")  # for chrome://tracing or ui.perfetto.dev
    print(prof.key_averages().table())

A profile holds the host's spans, one an op call, a step of the backward pass or a :class:`record_function`, and the
devices' spans, one a kernel or copy. Those of an asynchronous device are measured by events on its streams.
"""

from __future__ import annotations

import enum
import functools
import itertools
import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import _core

__all__ = ["KeyAverages", "ProfilerAction", "Span", "profile", "record_function", "schedule"]


@dataclass
class Span:
    """One piece of work; times are microseconds since the profile began."""

    name: str
    kind: str  # op, backward or label, of the host; kernel or copy, of a device
    thread: int  # of the host that did it, or queued it
    begin: float
    end: float
    shapes: str = ""
    device: str = ""  # empty for the host
    stream: int = 0
    self_time: float = 0.0  # without what was done within, of the host

    @property
    def duration(self) -> float:
        return self.end - self.begin


class record_function:
    """A label for what is done within it, as a context or a decorator. Costs next to nothing without a profile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._labels: list[Any] = []

    def __enter__(self) -> record_function:
        self._labels.append(_core._Label(self.name))
        self._labels[-1].__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._labels.pop().__exit__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapper


class ProfilerAction(enum.Enum):
    NONE = 0
    RECORD = 1
    RECORD_AND_SAVE = 2  # the last step of a cycle


def schedule(
    *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """For :class:`profile`: cycles of `wait` and `warmup` steps that are not recorded, and `active` ones that are.

    `repeat` is how many cycles, without end by default; `skip_first` steps come before them.
    """
    if active < 1 or min(wait, warmup, repeat, skip_first) < 0:
        raise ValueError("schedule: active must be positive, and nothing negative")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        cycle, place = divmod(step - skip_first, length)
        if step < skip_first or (repeat and cycle >= repeat) or place < wait + warmup:
            return ProfilerAction.NONE
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


class profile:
    """Records while it is entered, or, with a `schedule`, in the steps that it says, each with a label.

    Call ``step()`` after each step, then.

    ``on_trace_ready(profile)`` is called at the end, or at the end of each cycle. `record_shapes` keeps the shapes of
    inputs; `with_devices=False` leaves the devices' spans out. There is one profile at a time.
    """

    def __init__(
        self,
        *,
        record_shapes: bool = False,
        with_devices: bool = True,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], None] | None = None,
    ) -> None:
        self.record_shapes, self.with_devices = record_shapes, with_devices
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._labelled = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num, self.untimed = 0, False
        self._running = False
        self._spans: list[Span] = []
        self._threads: dict[int, str] = {}
        self._step: Any = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._begin_step()

    def stop(self) -> None:
        if self._running:
            self._finish()

    def step(self) -> None:
        """The end of a step, and the begin of the next one."""
        if self._running and self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self.step_num += 1
        self._begin_step()

    def _begin_step(self) -> None:
        self._end_label()
        recorded = self.schedule(self.step_num) is not ProfilerAction.NONE
        if recorded and not self._running:
            _core._profiler_start(self.record_shapes, self.with_devices)
            self._running = True
        elif self._running and not recorded:
            self._finish()
        if self._running and self._labelled:
            self._step = record_function(f"step {self.step_num}").__enter__()

    def _end_label(self) -> None:
        if self._step is not None:
            self._step.__exit__()
        self._step = None

    def _finish(self) -> None:
        self._end_label()
        self._running = False
        host, device, self.untimed = _core._profiler_stop()
        self._spans = [Span(n, k, t, b / 1e3, e / 1e3, *rest) for n, k, t, b, e, *rest in itertools.chain(host, device)]
        self._threads = {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id}
        _set_self_times([span for span in self._spans if not span.device])
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self) -> list[Span]:
        """Everything that was recorded last."""
        return list(self._spans)

    def key_averages(self, group_by_input_shape: bool = False) -> KeyAverages:
        """Sums by name, and by the shapes of the inputs if asked."""
        return KeyAverages.of(self._spans, group_by_input_shape)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for chrome://tracing and ui.perfetto.dev: a track a thread, and one a stream of a device."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ms", "traceEvents": list(_trace_events(self._spans, self._threads))}, file)


def _set_self_times(spans: list[Span]) -> None:
    """Takes from each span what the spans directly within it took."""
    by_thread: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        span.self_time = span.duration
        by_thread[span.thread].append(span)
    for of_thread in by_thread.values():
        around: list[Span] = []
        for span in sorted(of_thread, key=lambda s: (s.begin, -s.end)):
            while around and around[-1].end <= span.begin:
                around.pop()
            if around:
                around[-1].self_time -= span.duration
            around.append(span)


def _trace_events(spans: Iterable[Span], threads: dict[int, str]) -> Iterator[dict[str, Any]]:
    host = os.getpid()
    devices: dict[str, int] = {}
    tracks: dict[tuple[int, int], str] = {}
    yield _metadata("process_name", host, 0, "host")
    for span in spans:
        process, track, name = host, span.thread, threads.get(span.thread, f"thread {span.thread}")
        if span.device:
            if span.device not in devices:
                devices[span.device] = host + 1 + len(devices)
                yield _metadata("process_name", devices[span.device], 0, span.device)
            process, track, name = devices[span.device], span.stream, f"stream {span.stream}"
        if (process, track) not in tracks:
            tracks[process, track] = name
            yield _metadata("thread_name", process, track, name)
        event = {"ph": "X", "name": span.name, "cat": span.kind, "pid": process, "tid": track}
        event |= {"ts": span.begin, "dur": span.duration}
        yield event | ({"args": {"shapes": span.shapes}} if span.shapes else {})


def _metadata(kind: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": track, "args": {"name": name}}


@dataclass
class Average:
    """All spans of one name; times are microseconds in all. Host times are those of calls, device times of the work."""

    key: str
    shapes: str = ""
    count: int = 0
    host_time: float = 0.0
    self_host_time: float = 0.0
    device_time: float = 0.0
    device_count: int = 0

    def add(self, span: Span) -> None:
        if span.device:
            self.device_time += span.duration
            self.device_count += 1
            return
        self.count += 1
        self.host_time += span.duration
        self.self_host_time += span.self_time


@dataclass
class KeyAverages:
    """A row for each name, or name and shapes; :meth:`table` is for people."""

    rows: list[Average] = field(default_factory=list)

    @classmethod
    def of(cls, spans: Iterable[Span], by_shape: bool) -> KeyAverages:
        rows: dict[tuple[str, str], Average] = {}
        for span in spans:
            key = span.name, span.shapes if by_shape else ""
            rows.setdefault(key, Average(*key)).add(span)
        return cls(list(rows.values()))

    def __iter__(self) -> Iterator[Average]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Average:
        found = [row for row in self.rows if row.key == name]
        if not found:
            raise KeyError(f"nothing of the name {name!r} was recorded")
        return found[0]

    def table(self, sort_by: str = "self_host_time", row_limit: int = 100) -> str:
        """Rows by one of count, host_time, self_host_time, device_time, device_count, the greatest first."""
        columns = ["self_host_time", "host_time", "count", "device_time", "device_count"]
        if sort_by not in columns:
            raise ValueError(f"sort_by must be one of {', '.join(columns)}; found {sort_by!r}")
        rows = sorted(self.rows, key=lambda row: -getattr(row, sort_by))
        with_shapes = any(row.shapes for row in rows)
        head = ["name", "self host", "share", "host", "calls", "device", "kernels"] + ["shapes"] * with_shapes
        total = sum(row.self_host_time for row in rows) or 1.0
        lines = [head]
        for row in rows[:row_limit]:
            line = [row.key, _time(row.self_host_time), f"{row.self_host_time / total:.1%}", _time(row.host_time)]
            line += [str(row.count), _time(row.device_time), str(row.device_count)]
            lines.append(line + [row.shapes] * with_shapes)
        times = sum(row.self_host_time for row in rows), sum(row.device_time for row in rows)
        return f"{_aligned(lines)}\nhost {_time(times[0])}, devices {_time(times[1])}"


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f} {unit}"
    return f"{microseconds:.1f} us"


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]
    return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:]])
