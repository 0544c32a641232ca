"""Where plugins are found. Nothing is opened, and no plugin's Python is imported, before its device is asked for.

A name belongs to the first source that has it:

1. ``dougong.load_plugin(path)``;
2. ``DOUGONG_PLUGIN_PATH``: folders with ``libdg_<name>.so``, or such files, separated like ``PATH``. Ignored in a
   process that has rights its caller does not have (set-user-id and the like);
3. dougong's own plugins, in the folder ``plugins`` of the package;
4. entry points of the group ``dougong.plugins`` of installed packages: the name is the device's, the value leads to the
   library's path (str or Path), or to a function that returns it.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _core
from ._errors import IncompatibleError
from ._paths import plugin_folders

GROUP = "dougong.plugins"
VARIABLE = "DOUGONG_PLUGIN_PATH"
_LIBRARY = re.compile(r"libdg_([a-z][a-z0-9_]{0,30})\.so")


@dataclass(frozen=True)
class Source:
    """One place that says where a plugin's library is."""

    name: str
    kind: str  # "path variable", "built in" or "entry point"
    where: str  # the file, or the entry point's package and value
    path: Callable[[], str]  # may import and raise


@dataclass(frozen=True)
class Note:
    """Something that was found and not taken, for ``dougong doctor``."""

    where: str
    text: str


def sources() -> list[Source]:
    """Every source of every name, in the order of precedence."""
    return [item for item in _scan() if isinstance(item, Source)]


def notes() -> list[Note]:
    return [item for item in _scan() if isinstance(item, Note)]


def find(name: str) -> str:
    """The path of the library of a device's name, without opening it. Raises IncompatibleError."""
    for source in sources():
        if source.name == name:
            return source.path()
    known = ", ".join(sorted({source.name for source in sources()})) or "none"
    raise IncompatibleError(f"there is no plugin {name!r}: known here: {known}; `dougong doctor` shows what was found")


def _scan() -> Iterator[Source | Note]:
    yield from _from_variable()
    for folder in plugin_folders():
        yield from _from_folder(folder, "built in")
    yield from _from_entry_points()


def _from_variable() -> Iterator[Source | Note]:
    value = os.environ.get(VARIABLE, "")
    if value and _core._privileged():
        yield Note(VARIABLE, "ignored, because this process has rights that its caller does not have")
        return
    for entry in filter(None, value.split(os.pathsep)):
        if os.path.isdir(entry):
            yield from _from_folder(entry, "path variable")
        elif os.path.exists(entry):
            yield from _from_file(entry, "path variable")
        else:
            yield Note(entry, f"is in {VARIABLE} and does not exist")


def _from_folder(folder: str, kind: str) -> Iterator[Source | Note]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        if kind != "built in":
            yield Note(folder, f"cannot be read: {error.strerror}")
        return
    for name in names:
        if name.startswith("libdg_") and name.endswith(".so"):
            yield from _from_file(os.path.join(folder, name), kind)


def _from_file(path: str, kind: str) -> Iterator[Source | Note]:
    match = _LIBRARY.fullmatch(os.path.basename(path))
    if match:
        path = os.path.abspath(path)
        yield Source(match[1], kind, path, lambda: path)
    else:
        yield Note(path, "is no plugin's file name; wanted libdg_<name>.so, the name in lower case")


def _from_entry_points() -> Iterator[Source | Note]:
    from importlib import metadata  # takes a while, and most programs never come here

    seen = set()
    for point in metadata.entry_points(group=GROUP):
        where = f"{point.dist.name if point.dist else 'unknown package'}: {point.value}"
        if (point.name, point.value) in seen:
            continue
        seen.add((point.name, point.value))
        if _core._is_plugin_name(point.name):
            yield Source(point.name, "entry point", where, functools.partial(_path_of, point))
        else:
            yield Note(where, f"the entry point's name {point.name!r} is no device name")


_resolving = threading.local()
_first_failures: dict[str, BaseException] = {}


def _path_of(point: Any) -> str:
    """The library's path by an entry point. The first failure is raised again at each later use."""
    if point.value not in _first_failures:
        try:
            return _resolve(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything, SystemExit too
            _first_failures[point.value] = error
    first = _first_failures[point.value]
    raise IncompatibleError(
        f"the entry point {point.name} = {point.value} of {point.dist.name if point.dist else 'an unknown package'} "
        f"failed: {type(first).__name__}: {first}. Mend or uninstall that package; nothing else of dougong needs it"
    ) from first


def _resolve(point: Any) -> str:
    active = _resolving.__dict__.setdefault("names", set())
    if point.name in active:
        raise RuntimeError(f"the package asks for its own device {point.name!r} while its library is looked for")
    active.add(point.name)
    try:
        value = point.load()
        return _as_path(value() if callable(value) else value)
    finally:
        active.discard(point.name)


def _as_path(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"wanted the path of the library (str or Path), found {type(value).__name__}")
    path = os.fsdecode(os.fspath(value))
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no library {path}")
    return os.path.abspath(path)


def _discover(name: str) -> None:
    """Called by the registry for a name that it does not know, and with "" before names are listed."""
    for item in _scan():
        if not isinstance(item, Source) or name not in ("", item.name):
            continue
        _core._declare(item.name, f"{item.kind} {item.where}", item.path)
        if name:
            return


_core._set_discovery(_discover)
atexit.register(_core._shutdown)
