"""Generated kernels: the source for a call's form, and the binaries that were kept of earlier processes.

Binaries lie in ``$XDG_CACHE_HOME/dougong/kernels`` (``~/.cache`` by default), one file each, named by a hash of source,
language, options and compiler. A file begins with the hash of its content: one that was torn or changed is not used.
A process that has rights its caller does not have reads and writes none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _core

_DIGEST = 32  # bytes


def folder() -> Path:
    """Where binaries are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "dougong" / "kernels"


def write(raw: dict[str, Any], compiler_id: str) -> tuple[Any, str, bytes] | None:
    """The program for a request of the core, its key, and its binary if one was kept (else nothing)."""
    import json

    from dougong_kernels import generator
    from dougong_kernels.generator.source import Operand, Request

    attributes = {name: json.loads(value) for name, value in raw.pop("attributes").items()}
    operands = tuple(Operand(*operand) for operand in raw.pop("operands"))
    request = Request(operands=operands, attributes=attributes, **raw)
    program = generator.generate(request)
    if program is None:
        return None
    key = generator.key(request, program, compiler_id)
    return program, key, read(key)


def read(key: str) -> bytes:
    """A kept binary; empty if there is none that is whole."""
    if _core._privileged():
        return b""
    try:
        content = (folder() / key).read_bytes()
    except OSError:
        return b""
    import hashlib

    digest, binary = content[:_DIGEST], content[_DIGEST:]
    return binary if hashlib.sha256(binary).digest() == digest else b""


def keep(key: str, binary: bytes) -> None:
    """Writes a file beside and renames it: another process sees all of it or nothing. A full disk is no failure."""
    import hashlib
    import tempfile

    if _core._privileged():
        return
    try:
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=folder())
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(binary).digest() + binary)
            os.replace(name, folder() / key)
        except BaseException:
            os.unlink(name)
            raise
    except OSError:
        return


_core._set_generator(write, keep)
