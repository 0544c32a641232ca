"""Reads the public C headers for cffi: the judge's only knowledge of the device API."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from cffi import FFI

HERE = Path(__file__).resolve().parent
HEADERS = ("dg_types.h", "dg_kernel.h", "dg_ops.h", "dg_device.h")


class NotFound(Exception):
    """A part of dougong that the judge reads is not where it should be."""


def find(source: str, installed: str) -> Path:
    """A file or folder of dougong: in the source tree that this file belongs to, else beside the installed package."""
    for path in (HERE.parents[1] / source, HERE.parent / installed):
        if path.exists():
            return path
    raise NotFound(f"{source} is neither in {HERE.parents[1]} nor installed as {HERE.parent / installed}")


def include_folder() -> Path:
    return find("device_api/include", "dougong/include")


def kernels_folder() -> Path:
    """Where the op files are: ops/, reference/ and definitions.py."""
    return find("kernels", "dougong_kernels")


def op_names() -> set[str]:
    return {path.stem for path in (kernels_folder() / "ops").glob("*.yaml")}


@functools.cache
def definitions() -> ModuleType:
    """The module that reads the op files: dougong_kernels.definitions."""
    name, folder = "dougong_kernels", kernels_folder()
    if name not in sys.modules:
        places = [str(folder)]
        spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=places)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return importlib.import_module(f"{name}.definitions")


@functools.cache
def defines() -> dict[str, int]:
    """The headers' integer macros."""
    pattern = re.compile(r"^#define (DG_\w+) (\d+)\s*(?:/\*.*)?$", re.MULTILINE)
    return {name: int(value) for name, value in pattern.findall(_text())}


@functools.cache
def ffi() -> FFI:
    """The headers' declarations, compiled."""
    compiled = FFI()
    compiled.cdef(declarations())
    return compiled


@functools.cache
def constants():
    """The headers' enumerators, as attributes: ``constants().DG_STATUS_OK``."""
    return ffi().dlopen(None)


@functools.cache
def names(prefix: str) -> dict[int, str]:
    """Value to name for the enumerators that begin so: ``names("DG_STATUS_")[4]`` is ``"UNSUPPORTED"``."""
    found = re.findall(rf"\b{prefix}(\w+) = (\w+)", re.sub(r"/\*.*?\*/", " ", _text(), flags=re.DOTALL))
    return {int(value, 0): name for name, value in found}


def declarations() -> str:
    """The headers without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", _text(), flags=re.DOTALL)
    text = "\n".join(_without_directives(text.splitlines())).replace("DG_EXPORT", "")
    return re.sub(r"\[(DG_\w+)\]", lambda match: f"[{defines()[match[1]]}]", text)


@functools.cache
def _text() -> str:
    folder = include_folder() / "dougong"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in HEADERS)


def _without_directives(lines: list[str]) -> list[str]:
    """What a C compiler on a POSIX system keeps, macros left alone: C++ and Windows branches go."""
    kept, branches = [], []
    for line in lines:
        if re.match(r"#\s*if", line):
            branches.append("__cplusplus" not in line and "_WIN32" not in line)
        elif re.match(r"#\s*else", line):
            branches[-1] = not branches[-1]
        elif re.match(r"#\s*endif", line):
            branches.pop()
        elif all(branches) and not line.startswith("#"):
            kept.append(line)
    return kept
