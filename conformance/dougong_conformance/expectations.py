"""Failures that are known and for now accepted: data of the backend, each with a reason.

    xfail = [{case = "memory/copy/*", reason = "waits for driver 2.1"}]

in the `plugin.toml` beside the library, or in a file given by --expect. An expected failure that passes is a failure:
the list never outlives its reasons.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

from .pool import Outcome, Target


class BadExpectations(Exception):
    """The file cannot be used; the message says what is wrong in it."""


@dataclass(frozen=True)
class Expectation:
    glob: str
    reason: str


def find(target: Target, given: str | None) -> list[Expectation]:
    """The expectations of --expect if given, else of the manifest beside the library, else none."""
    if given:
        return read(Path(given))
    folder = target.library.resolve().parent
    for path in (folder / f"libdg_{target.name}.toml", folder / "plugin.toml"):
        if path.is_file() and _load(path).get("name", target.name) == target.name:
            return read(path)
    return []


def read(path: Path) -> list[Expectation]:
    entries = _load(path).get("xfail", [])
    if not isinstance(entries, list):
        raise BadExpectations(f"{path}: xfail is {entries!r}, wanted: a list of {{case, reason}}")
    return [_entry(path, entry) for entry in entries]


def _entry(path: Path, entry: object) -> Expectation:
    given = entry if isinstance(entry, dict) else {}
    glob, reason = given.get("case"), given.get("reason")
    if not (isinstance(glob, str) and glob and isinstance(reason, str) and reason.strip()):
        raise BadExpectations(f'{path}: xfail {entry!r}, wanted: {{case = "glob", reason = "why, and until when"}}')
    return Expectation(glob, reason.strip())


def apply(expectations: list[Expectation], case_id: str, outcome: Outcome) -> tuple[str, str]:
    """The verdict and error of the case when what was expected of it is known."""
    known = next((e for e in expectations if fnmatch.fnmatchcase(case_id, e.glob)), None)
    if known and outcome.verdict == "fail":
        return "xfail", f"{known.reason} ({outcome.error})"
    if known and outcome.verdict == "pass":
        return "fail", f"an unexpected pass: take {known.glob!r} ({known.reason}) off the list of expected failures"
    return outcome.verdict, outcome.error


def _load(path: Path) -> dict:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadExpectations(f"{path} cannot be read as TOML: {error}") from None
