"""What gradients are asked of: ops, cases of theirs, and values. Nothing here knows an op.

Values are drawn with gaps: distinct, apart from each other and from zero, so that no step of the differences crosses a
kink. Or they meet: see `corners`. Of a case in whose shapes the inputs broadcast, the gradient is a sum.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import points, questions
from .points import Arrays

CORNER_SIZE = 200  # elements an input of an op that is not elementwise
CORNER_CASES = 6  # an op
DEVICE_SIZE = 20_000  # elements of all inputs: more show nothing new, and cost time
# Shapes that broadcast, for the first, second and third input of an elementwise op.
BROADCASTS = {
    "broadcast-axes": ((2, 3, 4), (3, 1), (4,)),
    "broadcast-both": ((3, 1), (1, 4), (2, 1, 1)),
    "broadcast-scalar": ((5,), (), (5,)),
    "broadcast-to": ((), (5,), (1,)),
}


@dataclass(frozen=True)
class Subject:
    """An op, the shapes and attributes of one of its cases; values that keep apart, or that meet (see `corners`)."""

    op: str
    case: str
    corners: bool = False

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{self.op}/{self.case}".encode())


def differentiable(op: Any) -> list[int]:
    """The inputs that have a gradient. Of a variadic input the index stands for all.

    An op whose gradient is that of what it is made of has one for all that may be floats.
    """
    if not op.differentiable:
        return []
    if isinstance(op.grad, dict) and op.grad:
        named = [name.strip() for key in op.grad for name in key.split(",")]
    else:
        named = [i.name for i in op.inputs if op.grad or _may_be_float(op, i.type)]
    return [i for i, described in enumerate(op.inputs) if described.name in named]


def _may_be_float(op: Any, type_: str) -> bool:
    bare = type_.removeprefix("accumulator(").removesuffix(")")
    return any("float64" in variable.dtypes for variable in op.types if variable.name == bare)


@functools.cache
def subjects(name: str) -> tuple[Subject, ...]:
    """The cases of an op that differ in shapes or attributes, and broadcasting ones for an elementwise op."""
    op = questions.kernels().load(name)
    found: dict[str, Subject] = {}
    for key, case in questions.cases_by_id(name).items():
        signature = _signature(op, case)
        if signature:
            found.setdefault(signature, Subject(name, key))
    if op.elementwise and len(op.inputs) > 1 and found:
        found |= {case: Subject(name, case) for case in BROADCASTS}
    return tuple(found.values())


@functools.cache
def corner_subjects(name: str) -> tuple[Subject, ...]:
    """Small cases that differ in attributes, or in which inputs are there; for an elementwise op any size is."""
    op, found = questions.kernels().load(name), {}
    for subject in subjects(name):
        inputs, attributes = values(subject)
        small = all(x is None or 0 < x.size <= CORNER_SIZE for x in inputs)
        if op.elementwise or (small and any(x is not None and x.size > 1 for x in inputs)):
            kind = f"{[None if x is None else op.elementwise or x.ndim for x in inputs]} {attributes}"
            found.setdefault(kind, dataclasses.replace(subject, corners=True))
    return tuple(found.values())[:CORNER_CASES]


def _signature(op: Any, case: Any) -> str:
    """Equal for cases that ask the same of a gradient; empty for those that ask nothing of it."""
    choice = _choice(op, case, "float64")
    if choice is None or not case.get("differentiable", True):
        return ""
    inputs, attributes = questions.kernels("cases").draw(op, case, choice, 0)
    if sum(x.size for x in inputs if x is not None) > DEVICE_SIZE:
        return ""
    if any(variable.index for variable in op.types):
        try:
            questions.oracle(op, inputs, attributes)
        except IndexError:
            return ""
    shapes = [None if x is None else x.shape for x in inputs]
    return f"{shapes} {attributes}"


def _choice(op: Any, case: Any, dtype: str) -> tuple[str, ...] | None:
    """The dtypes of a call in which all values have this one."""
    for choice in questions.dtype_choices(op, case):
        if all(v.index or d == dtype for v, d in zip(op.types, choice, strict=True)):
            return choice
    return None


# -- values --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def values(subject: Subject) -> tuple[tuple[np.ndarray | None, ...], dict[str, Any]]:
    """Inputs in float64 that are float32 numbers, with gaps or at corners, and attributes for dtype float64."""
    op = questions.kernels().load(subject.op)
    drawn, attributes = _drawn(op, subject)
    if subject.corners:
        return tuple(_at_corners(op, drawn, attributes, subject.seed)), attributes
    inputs = _with_gaps(op, drawn, subject.seed, positive=False)
    if not _finite(op, inputs, attributes):
        inputs = _with_gaps(op, drawn, subject.seed, positive=True)
    return tuple(inputs), attributes


def _at_corners(op: Any, drawn: Arrays, attributes: dict[str, Any], seed: int) -> Arrays:
    if op.elementwise:
        return points.elementwise(drawn, attributes, seed)
    anywhere, domain = (-np.inf, np.inf), [_limits(op, name) for name in _names(op, len(drawn))]
    found = points.tied(drawn, seed, [anywhere] * len(drawn))
    return found if _finite(op, found, attributes) else points.tied(drawn, seed, domain)


def _limits(op: Any, name: str) -> tuple[float, float]:
    low, high = op.domain.get(name, (-np.inf, np.inf))
    return float(low), float(high)


def is_finite(subject: Subject) -> bool:
    """Whether the outputs are numbers, so that differences of them mean something."""
    return _finite(questions.kernels().load(subject.op), *values(subject))


def _finite(op: Any, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any]) -> bool:
    outputs = questions.oracle(op, inputs, attributes)
    return all(np.isfinite(y).all() for y in outputs if y.dtype.kind == "f")


def _drawn(op: Any, subject: Subject) -> tuple[Arrays, dict[str, Any]]:
    cases = questions.cases_by_id(op.name)
    if subject.case in cases:
        case = cases[subject.case]
        return questions.kernels("cases").draw(op, case, _choice(op, case, "float64"), subject.seed)
    first = cases[subjects(subject.op)[0].case]
    inputs, attributes = questions.kernels("cases").draw(op, first, _choice(op, first, "float64"), subject.seed)
    shapes = BROADCASTS[subject.case]
    return [_like(x, shapes[i % 3], subject.seed + i) for i, x in enumerate(inputs)], attributes


def _like(x: np.ndarray | None, shape: tuple[int, ...], seed: int) -> np.ndarray | None:
    if x is None or x.dtype.kind == "f":
        return x if x is None else np.zeros(shape, x.dtype)
    return np.random.default_rng(seed).integers(0, 2, shape).astype(x.dtype)


def _with_gaps(op: Any, drawn: Arrays, seed: int, positive: bool) -> Arrays:
    """Each float replaced by a place on a grid, taken once.

    All inputs share one grid, so that no two have near values either; and as it is not symmetrical, no near magnitudes.
    Inputs that have domains of their own are compared with no others, and have a grid each.
    """
    floats = [x is not None and x.dtype.kind == "f" for x in drawn]
    counts = [x.size if is_float else 0 for x, is_float in zip(drawn, floats, strict=True)]
    total = sum(counts)
    places = np.random.default_rng(seed).permutation((np.arange(total) + 0.4) / max(total, 1))
    parts = np.split(places, np.cumsum(counts)[:-1])
    parts = [(np.argsort(np.argsort(p)) + 0.4) / max(p.size, 1) for p in parts] if op.domain else parts
    names = _names(op, len(drawn))
    return [
        _on_grid(part, _domain(op, name, positive)).reshape(x.shape) if is_float else x
        for name, x, is_float, part in zip(names, drawn, floats, parts, strict=True)
    ]


def _names(op: Any, count: int) -> list[str]:
    """The name of each input of a call; those of a variadic input all have its name."""
    return [i.name for i in op.inputs] + [op.inputs[-1].name] * (count - len(op.inputs))


def _domain(op: Any, name: str, positive: bool) -> list[tuple[float, float]]:
    """The intervals that values come from: away from zero, or the op's own."""
    low, high = map(float, op.domain.get(name, (0.0 if positive else -2.0, 2.0)))
    low, high = max(low, -2.0), min(high, 2.0)
    if low < 0 < high:
        return [(low, low / 5), (high / 5, high)]
    return [(low + (high - low) / 5, high)]


def _on_grid(places: np.ndarray, intervals: Sequence[tuple[float, float]]) -> np.ndarray:
    """Places from 0 to 1 as numbers in the intervals, in the order of both. Each is a float32 number."""
    scaled = places * len(intervals)
    which = scaled.astype(int)
    low, high = (np.array([interval[side] for interval in intervals]) for side in (0, 1))
    return (low[which] + (scaled - which) * (high - low)[which]).astype(np.float32).astype(np.float64)
