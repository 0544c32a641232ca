"""What a case is, and how it ends.

A case is a function of a session. It passes by returning, and ends otherwise by raising one of the exceptions below.
Any other exception is a failure too: its text and its place are reported.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import LEVELS, suites

if TYPE_CHECKING:
    from .session import Session

DEADLINE = 30.0


class Fail(Exception):
    """The plugin broke a rule. ``message`` is one sentence, what was wanted and what was found; ``detail`` the rest."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class Unsupported(Exception):
    """The plugin says that it does not do this, which is no fault.

    ``wants`` names the slot or kernel that would turn the case green, for the ladder's next step.
    """

    def __init__(self, reason: str, wants: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.wants = wants


class NotRun(Exception):
    """The judge could not run the case, for a reason that is not the plugin's."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Context:
    """What a suite may know when it lists its cases: nothing about the plugin, so that the list is always the same."""

    seed: int = 0


@dataclass(frozen=True)
class Case:
    """One question to a plugin.

    ``id`` is ``level/subject/what-is-asked``: printable, typable, globbable. ``rules`` are ids of device_api/SPEC.md.
    An ``isolated`` case runs in a process of its own, in which nothing else has touched the plugin.
    """

    id: str
    level: str
    rules: tuple[str, ...]
    run: Callable[[Session], None]
    deadline: float = DEADLINE
    summary: str = ""
    isolated: bool = False


def load_cases(levels: Iterable[str] = (), globs: Iterable[str] = (), seed: int = 0) -> list[Case]:
    """The cases of these levels whose id matches one of the globs, in the ladder's order. Nothing given means all."""
    globs = tuple(globs)
    wanted = set(levels or LEVELS) & _levels_of(globs)
    found = [case for level in LEVELS if level in wanted for case in _cases_of_level(level, Context(seed))]
    return [case for case in found if not globs or any(fnmatch.fnmatchcase(case.id, glob) for glob in globs)]


def _levels_of(globs: tuple[str, ...]) -> set[str]:
    """The levels in which a glob can find anything, so that no suite is loaded in vain."""
    first = {glob.split("/")[0] for glob in globs}
    return first if globs and first <= set(LEVELS) else set(LEVELS)


def _cases_of_level(level: str, context: Context) -> Iterator[Case]:
    for name in sorted(info.name for info in pkgutil.iter_modules(suites.__path__)):
        if _level_of_suite(name) == level:
            yield from importlib.import_module(f"{suites.__name__}.{name}").cases(context)


def _level_of_suite(name: str) -> str | None:
    """The suite's LEVEL, read from its text: importing it may cost time that the other levels need not pay."""
    loader = importlib.util.find_spec(f"{suites.__name__}.{name}").loader
    found = re.search(r'^LEVEL = "(\w+)"', loader.get_source(f"{suites.__name__}.{name}"), re.MULTILINE)
    return found[1] if found else None
