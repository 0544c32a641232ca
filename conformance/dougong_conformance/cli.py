"""`dougong conformance`: the judge on the command line."""

from __future__ import annotations

import fnmatch
import glob
import inspect
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from . import LEVELS, VERDICTS, expectations, rules
from .case import Case, load_cases
from .console import Display, summary
from .report import Report
from .resolve import resolve
from .run import CannotJudge, Run, Settings

LEVEL = click.Choice(LEVELS)
CANNOT_JUDGE = 2


def _stops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns "could not judge" into its sentence and its exit code; also a bug of the judge, which is no verdict."""

    def run(*arguments: Any, **named: Any) -> None:
        try:
            function(*arguments, **named)
            return
        except (CannotJudge, expectations.BadExpectations) as error:
            click.echo(f"could not judge: {error}", err=True)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("could not judge: interrupted", err=True)
        except Exception:
            click.echo(f"could not judge, because of a bug of the judge:\n{traceback.format_exc()}", err=True)
        sys.exit(CANNOT_JUDGE)

    run.__doc__, run.__name__ = function.__doc__, function.__name__
    return run


@click.group()
def conformance() -> None:
    """Judge a device plugin: what is right, what is wrong, and what to write next.

    \b
    The levels are a ladder; each stands on the ones before it:
      abi      the library, its tables, opening and closing
      memory   allocation, copies, fills
      stream   order, events, callbacks
      kernel   each kernel against its oracle
      grad     gradients, through the runtime
      train    networks that must learn

    Start with `dougong conformance run DEVICE`, and read conformance/README.md.
    """


@conformance.command()
@click.argument("device")
@click.option("--level", "levels", multiple=True, type=LEVEL, help="Judge this level; may be repeated. Default: all.")
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Judge cases that match, like 'memory/copy/*'.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report for programs. Also of an interrupted run.")
@click.option("--junit", metavar="FILE", help="Write the report for CI systems.")
@click.option("--plugin", metavar="PATH", help="Judge this library instead of the one that dougong finds by name.")
@click.option("--jobs", default=0, show_default="CPUs, at most 4", metavar="N", help="Worker processes.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="Draw other inputs.")
@click.option("--deadline", type=float, metavar="S", help="Seconds for each case, in place of the case's own.")
@click.option("--expect", metavar="FILE", help="Expected failures. Default: plugin.toml beside the library.")
@click.option("--strict", is_flag=True, help="An op that runs on the host instead of the device is a failure.")
@_stops
def run(device: str, levels: tuple[str, ...], globs: tuple[str, ...], plugin: str | None, **options: Any) -> None:
    """Judge DEVICE, for instance acme:0.

    Exit code 0: all right. 1: a case failed. 2: could not judge, or nothing was judged.
    """
    target = resolve(device, plugin)
    settings = Settings(
        target=target,
        cases=_select(levels, globs, options["seed"]),
        expectations=expectations.find(target, options["expect"]),
        jobs=options["jobs"] or min(4, os.cpu_count() or 1),
        seed=options["seed"],
        deadline=options["deadline"],
        strict=options["strict"],
        json=options["json_file"],
        junit=options["junit"],
        repro_options=_repro_options(plugin, options),
    )
    report = _execute(settings)
    summary(Console(), report)
    sys.exit(report.exit_code())


def _repro_options(plugin: str | None, options: dict[str, Any]) -> tuple[str, ...]:
    words = ["--plugin", str(Path(plugin).resolve())] if plugin else []
    words += ["--seed", str(options["seed"])] if options["seed"] else []
    return (*words, *(["--strict"] if options["strict"] else []))


def _execute(settings: Settings) -> Report:
    display = Display(Console())
    try:
        return Run(settings, display).execute()
    finally:
        display.close()


def _select(levels: tuple[str, ...], globs: tuple[str, ...], seed: int = 0) -> list[Case]:
    cases = load_cases(levels, globs, seed)
    for level in () if globs else levels or LEVELS:
        if not any(case.level == level for case in cases):
            raise CannotJudge(f"level {level} has no cases: this installation is incomplete")
    for pattern in globs:
        if not any(fnmatch.fnmatchcase(case.id, pattern) for case in cases):
            raise CannotJudge(f"no case matches {pattern!r}: `dougong conformance list` shows them all")
    return cases


@conformance.command("list")
@click.option("--level", "levels", multiple=True, type=LEVEL, help="Only this level; may be repeated.")
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only the cases that match.")
@_stops
def list_(levels: tuple[str, ...], globs: tuple[str, ...]) -> None:
    """List the cases, each with the rules that it proves."""
    for case in _select(levels, globs):
        click.echo(f"{case.id}  [{' '.join(case.rules)}]")


@conformance.command()
@click.argument("case_id", metavar="CASE")
@_stops
def show(case_id: str) -> None:
    """Explain one case: what it asks, the rules behind it, and where its code is."""
    case = _one(case_id)
    click.echo(f"{case.id}\n\n  {case.summary or inspect.getdoc(case.run) or ''}\n")
    texts = rules.read()
    for rule in case.rules:
        click.echo(f"  {rule}  {texts.get(rule, '(no such rule in SPEC.md)')}")
    alone = ", in a process of its own" if case.isolated else ""
    click.echo(f"\n  level {case.level}, deadline {case.deadline:g} s{alone}\n  {_source(case)}")


def _one(case_id: str) -> Case:
    for case in load_cases(globs=[glob.escape(case_id)]):
        return case
    raise CannotJudge(f"there is no case {case_id!r}: `dougong conformance list` shows them all")


def _source(case: Case) -> str:
    function = case.run
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return f"{inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]}"


@conformance.command()
@click.argument("case_id", metavar="CASE")
@click.argument("device_or_report", metavar="DEVICE-or-REPORT")
@click.option("--plugin", metavar="PATH", help="The library, as for run.")
@click.option("--seed", default=0, metavar="N", help="The seed of the run that failed.")
@click.option("--deadline", type=float, metavar="S", help="Seconds; a large number for work in a debugger.")
@click.option("--strict", is_flag=True, help="As for run.")
@_stops
def repro(case_id: str, device_or_report: str, plugin: str | None, **options: Any) -> None:
    """Run one case again, with all that it has to say.

    The second argument is a device (acme:0), or the JSON report of the run in which the case failed: then plugin, seed
    and strictness are those of that run.
    """
    if device_or_report.endswith(".json"):
        words = _words_of_report(case_id, device_or_report)
        repro.main(words, standalone_mode=True)
    target = resolve(device_or_report, plugin)
    case = _one(case_id)
    repro_options = _repro_options(plugin, options)
    report = _execute(Settings(target, [case], [], repro_options=repro_options, **options))
    result = report.all_results()[0]
    click.echo(f"{result.verdict}: {result.error}" if result.error else result.verdict)
    for line in [*result.notes, *result.detail.splitlines()]:
        click.echo(f"  {line}")
    sys.exit(report.exit_code())


def _words_of_report(case_id: str, path: str) -> list[str]:
    for case in _read_report(path)["cases"]:
        if case["id"] == case_id and "repro" in case:
            return shlex.split(case["repro"])[3:]
    raise CannotJudge(f"{path} has no failure of {case_id!r}")


def _read_report(path: str) -> dict[str, Any]:
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        return {**report, "cases": [{**case, "id": case["id"], "verdict": case["verdict"]} for case in report["cases"]]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"{path} is no report of this judge: {type(error).__name__}: {error}") from None


@conformance.command()
@click.argument("a", type=click.Path(exists=True, dir_okay=False))
@click.argument("b", type=click.Path(exists=True, dir_okay=False))
@_stops
def diff(a: str, b: str) -> None:
    """Compare two JSON reports, A before B.

    Exit code 1 if a case of A that passed does not pass in B, else 0.
    """
    before, after = ({case["id"]: case for case in _read_report(path)["cases"]} for path in (a, b))
    worse = 0
    for case_id in dict.fromkeys([*before, *after]):
        old, new = (report.get(case_id, {"verdict": "absent"}) for report in (before, after))
        if old["verdict"] != new["verdict"]:
            error = f"  {new['error']}" if new.get("error") else ""
            click.echo(f"{case_id}: {old['verdict']} -> {new['verdict']}{error}")
            worse += old["verdict"] == "pass"
    counts = {verdict: sum(case["verdict"] == verdict for case in after.values()) for verdict in VERDICTS}
    click.echo(f"{worse} cases no longer pass; B has {', '.join(f'{n} {v}' for v, n in counts.items())}")
    sys.exit(1 if worse else 0)


@conformance.command()
@click.option("--json", "json_file", metavar="FILE", help='Write {"planted", "killed", "survivors"}.')
def mutants(json_file: str | None) -> None:
    """Judge the judge: plant faults in a correct plugin and count how many are caught."""
    from .mutants import main

    sys.exit(main(json_file))
