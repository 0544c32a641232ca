"""`dougong new NAME`: writes the project of a new plugin."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

from ._version import __version__

_RESERVED = {"cpu": "dougong's own plugin"}


def create(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """Writes the project into ``directory`` (default: ``./NAME``), which must not exist or be empty. Returns it.

    Raises ValueError for a name that no device can have, FileExistsError for a folder that holds something.
    """
    check_name(name)
    target = Path(directory) if directory is not None else Path(name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} exists and is not an empty folder: choose another with --directory")
    _write(name, target)
    return target


def check_name(name: str) -> None:
    """Raises ValueError unless ``name`` can be the first part of a device string."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise ValueError(
            f"{name!r} cannot name a device: wanted a lower-case letter, then lower-case letters, digits and "
            "underscores, at most 31 in all, as in acme for the device acme:0"
        )
    if name in _RESERVED:
        raise ValueError(f"{name!r} is taken: it is {_RESERVED[name]}; choose another name")


def report(name: str, target: Path) -> str:
    """What was written and what to type next, for people."""
    written = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    build = target / "build"
    lines = [f"wrote {target}/", *(f"  {path}" for path in written), "", "next:"]
    lines += [
        f'  cmake -S {target} -B {build} -DCMAKE_PREFIX_PATH="$(python -m dougong --cmake-dir)"',
        f"  cmake --build {build}",
        f'  export DOUGONG_PLUGIN_PATH="{build.resolve()}"',
        f"  dougong conformance run {name}:0",
    ]
    return "\n".join(lines)


def template_folder() -> Path:
    """The template: beside this file where dougong is installed, else in the source tree."""
    installed = Path(__file__).parent / "template"
    source = Path(__file__).parents[3] / "templates" / "plugin"
    for folder in (installed, source):
        if (folder / "copier.yml").is_file():
            return folder
    raise FileNotFoundError(f"the template is neither in {installed} nor in {source}: install dougong again")


def _write(name: str, target: Path) -> None:
    import copier  # takes half a second, and only this command needs it

    data = {"name": name, "year": str(datetime.date.today().year), "version": __version__}
    copier.run_copy(str(template_folder()), target, data=data, defaults=True, quiet=True)
