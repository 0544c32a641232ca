"""From a device string to the library that is judged."""

from __future__ import annotations

import re
from pathlib import Path

from .pool import Target
from .run import CannotJudge

DEVICE = re.compile(r"([a-z][a-z0-9_]{0,30})(?::(0|[1-9][0-9]{0,3}))?")


def parse_device(device: str) -> tuple[str, int]:
    """``"acme:1"`` is ("acme", 1) and ``"acme"`` the first of its devices."""
    match = DEVICE.fullmatch(device)
    if not match:
        raise CannotJudge(f"{device!r} is no device string, wanted: a plugin's name and an index, like acme:0")
    return match[1], int(match[2] or 0)


def resolve(device: str, plugin: str | None) -> Target:
    """The library of --plugin if given, else the one that dougong finds for the device's name."""
    name, index = parse_device(device)
    path = Path(plugin) if plugin else _find(name)
    if not path.is_file():
        raise CannotJudge(f"there is no library {path}")
    return Target(name, index, path.resolve())


def _find(name: str) -> Path:
    try:
        from dougong import _plugins
    except ImportError as error:
        raise CannotJudge(f"dougong is not installed ({error}): name the library with --plugin PATH") from None
    try:
        return Path(_plugins.find(name))
    except Exception as error:  # a plugin's entry point may raise anything; its first sentence says what to do
        raise CannotJudge(str(error)) from error
