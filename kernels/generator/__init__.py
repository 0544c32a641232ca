"""Kernels written from the op files, in the language of a plugin's compiler: step 2 of the ladder.

One file a family; what differs between languages is in `dialect.py`. A source serves every call of one form: the same
dtypes, ranks and attributes that decide how to compute. Sizes, strides and other numbers are its arguments.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ..definitions import Op, load
from . import elementwise, matmul, movement, random, reduction
from .source import Program, Request

WRITERS = {**movement.WRITERS, **reduction.WRITERS, **matmul.WRITERS, **random.WRITERS}


def supports(op: Op) -> bool:
    """Whether there is a writer for the op."""
    return op.name in WRITERS or (op.elementwise and bool(op.expr))


def generate(request: Request) -> Program | None:
    """The program for calls of this form, or None if there is no way to do them here."""
    if not request.doubles and "float64" in request.dtypes:
        return None
    op = load(request.op)
    writer = WRITERS.get(op.name, elementwise.write)
    return writer(op, request)


def key(request: Request, program: Program, compiler_id: str) -> str:
    """Names the binary: equal only for the same source, language, options and compiler."""
    parts: list[Any] = [request.dialect, compiler_id, *program.options, program.source]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
