"""One run of the judge: cases in, report out, whatever the plugin does meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import RUNTIME_LEVELS
from .case import DEADLINE, Case
from .expectations import Expectation, apply
from .pool import Outcome, Pool, Target
from .report import Report, Result, write_json, write_text

SERIAL_LEVELS = ("memory", "stream")  # they measure time and free memory: one case at a time
WRITE_EVERY = 5.0
# Crashes in a row after which the rest of a level is not run. A hang costs its whole deadline and counts more.
PATIENCE, CRASH, HANG = 200, 1, 40


class CannotJudge(Exception):
    """There is no verdict to give; the message says why. Exit code 2."""


class Watcher(Protocol):
    """Shows a run while it goes."""

    def started(self, report: Report) -> None: ...
    def ended(self, result: Result) -> None: ...


@dataclass(frozen=True)
class Settings:
    target: Target
    cases: list[Case]
    expectations: list[Expectation]
    jobs: int = 1
    seed: int = 0
    deadline: float | None = None
    strict: bool = False
    json: str | None = None
    junit: str | None = None
    repro_options: tuple[str, ...] = ()


class Run:
    """Judges one device. ``execute`` returns the report and leaves the files, also when it is interrupted."""

    def __init__(self, settings: Settings, watcher: Watcher) -> None:
        self._settings = settings
        self._watcher = watcher
        self._interrupted = False
        self._written = 0.0
        self._deaths = 0
        plugin = {"name": settings.target.name, "version": "", "sha256": _sha256(settings.target.library)}
        self.report = Report(settings.target.device, plugin, settings.cases)

    def execute(self) -> Report:
        if not self._settings.cases:
            raise CannotJudge("no case was selected: `dougong conformance list` shows what there is")
        with _signals(self._interrupt):
            try:
                self._watcher.started(self.report)
                self._judge_levels()
            except CannotJudge as error:
                self.report.pending = str(error)
                raise
            finally:
                self._write_files()
        return self.report

    def _interrupt(self) -> None:
        self._interrupted = True

    def _judge_levels(self) -> None:
        native = [level for level in self.report.levels() if level not in RUNTIME_LEVELS]
        runtime = [level for level in self.report.levels() if level in RUNTIME_LEVELS]
        with self._pool() as pool:
            opens = self._open(pool)
            for level in native:
                self._judge_level(pool, level, opens)
        with self._pool() as pool:  # the runtime brings its own loader: never both in one process
            for level in runtime:
                self._judge_level(pool, level, opens)

    def _open(self, pool: Pool) -> str:
        """An empty text if the plugin and its device open, else why not."""
        reply = pool.open_plugin(DEADLINE)
        name, version = reply.get("name"), reply.get("version")
        self.report.plugin.update({key: value for key, value in (("name", name), ("version", version)) if value})
        if reply["verdict"] == "not_run":
            raise CannotJudge(reply["error"])
        target = self._settings.target
        # A library that is named after the device and calls itself otherwise is at fault itself: level abi says so.
        if name and name != target.name and target.library.name != f"libdg_{target.name}.so":
            raise CannotJudge(f"the device is {target.device}, but {target.library} calls itself {name!r}")
        return "" if reply["verdict"] == "pass" else reply["error"] or reply["verdict"]

    def _judge_level(self, pool: Pool, level: str, opens: str) -> None:
        cases = [case for case in self._settings.cases if case.level == level]
        if opens and level != "abi":
            for case in cases:
                self._add(Result(case, "not_run", f"the plugin does not open: {opens}"))
            return
        self._deaths = 0
        pool.run(cases, 1 if level in SERIAL_LEVELS else self._settings.jobs, self._done, self._must_stop)
        if self._deaths >= PATIENCE:
            for case in cases:
                if case.id not in self.report.results:
                    self._add(Result(case, "not_run", "the cases before it crashed or hung one after the other"))

    def _must_stop(self) -> bool:
        return self._interrupted or self._deaths >= PATIENCE

    def _done(self, case: Case, outcome: Outcome) -> None:
        self._deaths = self._deaths + (HANG if outcome.hung else CRASH) if outcome.died else 0
        verdict, error = apply(self._settings.expectations, case.id, outcome)
        result = Result(case, verdict, error, outcome.detail, outcome.wants, outcome.seconds, outcome.fallbacks)
        result.notes = outcome.notes
        if verdict in ("fail", "xfail"):
            result.repro = self._repro(case)
        self._add(result)

    def _repro(self, case: Case) -> str:
        words = ["dougong", "conformance", "repro", case.id, self.report.device, *self._settings.repro_options]
        return " ".join(shlex.quote(word) for word in words)

    def _add(self, result: Result) -> None:
        self.report.add(result)
        self._watcher.ended(result)
        if time.monotonic() - self._written > WRITE_EVERY:
            self._write_json()

    def _write_files(self) -> None:
        self._write_json()
        if self._settings.junit:
            write_text(self._settings.junit, self.report.as_junit())

    def _write_json(self) -> None:
        if self._settings.json:
            write_json(self._settings.json, self.report.as_json())
        self._written = time.monotonic()

    @contextlib.contextmanager
    def _pool(self) -> Iterator[Pool]:
        settings = self._settings
        pool = Pool(settings.target, settings.seed, settings.strict, settings.deadline)
        try:
            yield pool
        finally:
            pool.close()


@contextlib.contextmanager
def _signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the run in order; a second one ends it at once."""

    def handle(number: int, frame: object) -> None:
        interrupt()
        signal.signal(number, before[number])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sha256(library: Path) -> str:
    try:
        return hashlib.sha256(library.read_bytes()).hexdigest()
    except OSError as error:
        raise CannotJudge(f"{library} cannot be read: {error}") from None
