"""Looks for a smaller call that still fails: fewer elements along the axes of each size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Fail
from .explain import describe
from .launch import Refused
from .questions import Answer

ATTEMPTS = 40
# Families of ops whose inputs stay valid when all axes of one size are cut alike.
FAMILIES = ("elementwise", "reduction", "softmax", "matmul", "norm")


def smallest(check: Callable[[Answer], None], answer: Answer, fail: Fail) -> str:
    """A line that describes the smallest call found that still fails, or an empty text if there is none smaller."""
    if answer.call.op.family not in FAMILIES or answer.out_of_range:
        return ""
    best, message, attempts = answer, fail.message, ATTEMPTS
    while attempts > 0:
        for candidate in _smaller(best):
            attempts -= 1
            found = _failure(check, candidate)
            if found:
                best, message = candidate, found
                break
            if attempts <= 0:
                break
        else:
            break
    return "" if best is answer else f"smallest found: {describe(best.call, 'the same')}: {message}"


def _failure(check: Callable[[Answer], None], candidate: Answer) -> str:
    try:
        check(candidate)
    except Refused:
        return ""
    except Fail as fail:
        return fail.message
    return ""


def _smaller(answer: Answer):
    """The call with all axes of one size cut to 1, to half, by one."""
    sizes = sorted({size for x in answer.call.inputs if x is not None for size in x.shape if size > 1}, reverse=True)
    for size in sizes:
        for to in dict.fromkeys([1, size // 2, size - 1]):
            try:
                yield answer.with_inputs([_cut(x, size, to) for x in answer.call.inputs])
            except (ValueError, IndexError):
                continue  # the op does not take these shapes


def _cut(x: np.ndarray | None, size: int, to: int) -> np.ndarray | None:
    if x is None:
        return None
    return np.ascontiguousarray(x[tuple(slice(to) if n == size else slice(None) for n in x.shape)]).reshape(
        [to if n == size else n for n in x.shape]
    )
