"""What a person sees of a run: a progress bar on a terminal, plain lines elsewhere, and a summary at the end."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import VERDICTS
from .ladder import next_step
from .report import Report, Result

STYLES = {"pass": "green", "fail": "bold red", "unsupported": "yellow", "xfail": "magenta", "not_run": "dim"}
MOST_FAILURES = 25


class Display:
    """Watches a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._report: Report | None = None
        self._left: Counter[str] = Counter()

    def started(self, report: Report) -> None:
        self._report = report
        self._left = Counter(case.level for case in report.cases)
        self._console.print(f"judging {report.device}: {len(report.cases)} cases", highlight=False)
        if self._console.is_terminal:
            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task("", total=len(report.cases))
            self._progress.start()

    def ended(self, result: Result) -> None:
        level = result.case.level
        self._left[level] -= 1
        if self._progress:
            self._progress.update(self._task, advance=1, description=level)
        if result.verdict == "fail":
            _line(self._console, f"FAIL {result.case.id}: {result.error}", STYLES["fail"])
        if not self._progress and not self._left[level]:
            counts = ", ".join(f"{n} {verdict}" for verdict, n in self._report.counts(level).items() if n)
            _line(self._console, f"{level}: {counts}")

    def close(self) -> None:
        if self._progress:
            self._progress.stop()


def summary(console: Console, report: Report) -> None:
    """The table by level, the failures with the commands that repeat them, and the next step."""
    console.print(_table(report))
    _print_fallbacks(console, report)
    _print_failures(console, report)
    _print_not_run(console, report)
    step = next_step(report)
    if step:
        _line(console, f"next: {step.what}")
        _line(console, f"      asked for by {step.case}; `dougong conformance show {step.case}` explains it")
    _line(console, _conclusion(report), STYLES["pass" if report.exit_code() == 0 else "fail"])


def _table(report: Report) -> Table:
    name, version = report.plugin["name"], report.plugin["version"]
    table = Table(title=f"{report.device} ({name} {version})".strip(), title_justify="left")
    table.add_column("level")
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    for level in report.levels():
        table.add_row(level, *_cells(report.counts(level)))
    table.add_section()
    table.add_row("all", *_cells(report.counts()))
    return table


def _cells(counts: dict[str, int]) -> list[str]:
    return [f"[{STYLES[verdict]}]{n}[/]" if n else "·" for verdict, n in counts.items()]


def _print_fallbacks(console: Console, report: Report) -> None:
    fallbacks = report.fallbacks()
    if fallbacks:
        ops = ", ".join(f"{op} x {n}" for op, n in list(fallbacks.items())[:12])
        _line(console, f"computed on the host instead ({len(fallbacks)} ops): {ops}")


def _print_failures(console: Console, report: Report) -> None:
    failures = report.failures()
    for result in failures[:MOST_FAILURES]:
        _line(console, f"\n{result.case.id} [{' '.join(result.case.rules)}]", STYLES["fail"])
        _line(console, f"  {result.error}")
        for line in result.detail.splitlines()[:8]:
            _line(console, f"    {line}", "dim")
        if result.repro:
            _line(console, f"  {result.repro}")
    if len(failures) > MOST_FAILURES:
        _line(console, f"\n... and {len(failures) - MOST_FAILURES} more failures: --json FILE has all of them")


def _print_not_run(console: Console, report: Report) -> None:
    reasons = {result.error for result in report.all_results() if result.verdict == "not_run"}
    for reason in sorted(reasons)[:5]:
        _line(console, f"not run: {reason}")


def _conclusion(report: Report) -> str:
    counts = report.counts()
    if report.exit_code() == 0:
        return f"{report.device}: all right, {counts['pass']} cases passed"
    if report.exit_code() == 1:
        return f"{report.device}: {counts['fail']} of {sum(counts.values())} cases failed"
    return f"{report.device}: could not judge; {counts['not_run']} cases were not run, {counts['pass']} passed"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
