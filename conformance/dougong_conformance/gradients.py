"""Gradients through the runtime, and what to hold them against: nothing here knows an op.

Finite differences in float32 cannot see errors below 1e-4, so a gradient is judged in two steps. Its *formula* is held,
in float64 on the host, against differences of the oracle. The *device's* float32 gradient is then held, element by
element, against the host's float64 gradient.

The values are drawn with gaps: distinct, apart from each other and from zero, so that no step of the differences
crosses a kink. What holds at a kink is stated in `kinks.yaml`.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import moved, questions, tolerance

STEP = 1e-3
# The error of a central difference of fourth order with this step is some 1e-11 of the values in play, their rounding
# over the step 1e-13: 1e-8 leaves room for steep functions, and a wrong term stands out by orders of magnitude.
FORMULA_LIMIT = 1e-8
FORMULA_SIZE = 100  # elements an input: more leave no gaps
DEVICE_SIZE = 20_000  # elements of all inputs: more show nothing new, and cost time
LAYOUTS = ("dense", "strided", "summed")
# Shapes that broadcast, for the first, second and third input of an elementwise op.
BROADCASTS = {
    "broadcast-axes": ((2, 3, 4), (3, 1), (4,)),
    "broadcast-both": ((3, 1), (1, 4), (2, 1, 1)),
    "broadcast-scalar": ((5,), (), (5,)),
    "broadcast-to": ((), (5,), (1,)),
}

Arrays = list[np.ndarray | None]


@dataclass(frozen=True)
class Subject:
    """An op, the shapes and attributes of one of its cases."""

    op: str
    case: str

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{self.op}/{self.case}".encode())


def differentiable(op: Any) -> list[int]:
    """The inputs that have a gradient. Of a variadic input the index stands for all."""
    if op.grad == "custom":
        named = [i.name for i in op.inputs]
    else:
        named = [name.strip() for key in op.grad for name in key.split(",")]
    return [i for i, described in enumerate(op.inputs) if described.name in named]


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
    """Inputs in float64 that are float32 numbers, with gaps, and attributes for dtype float64."""
    op = questions.kernels().load(subject.op)
    drawn, attributes = _drawn(op, subject)
    inputs = _with_gaps(op, drawn, subject.seed, positive=False)
    if not _finite(op, inputs, attributes):
        inputs = _with_gaps(op, drawn, subject.seed, positive=True)
    return tuple(inputs), attributes


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
    """Each float replaced by a place on one common grid, taken once: no two inputs have near values either."""
    floats = [x is not None and x.dtype.kind == "f" for x in drawn]
    counts = [x.size if is_float else 0 for x, is_float in zip(drawn, floats, strict=True)]
    total = sum(counts)
    places = np.random.default_rng(seed).permutation((np.arange(total) + 0.5) / max(total, 1))
    parts = np.split(places, np.cumsum(counts)[:-1])
    names = [i.name for i in op.inputs] + [op.inputs[-1].name] * (len(drawn) - len(op.inputs))
    return [
        _on_grid(part, _domain(op, name, positive)).reshape(x.shape) if is_float else x
        for name, x, is_float, part in zip(names, drawn, floats, parts, strict=True)
    ]


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


# -- gradients -----------------------------------------------------------------------------------------------------


@dataclass
class Gradients:
    """Gradients of an op's visible outputs, for all inputs that have one, through the runtime."""

    dougong: Any
    subject: Subject

    def __post_init__(self) -> None:
        self.op = questions.kernels().load(self.subject.op)
        self.inputs, self.attributes = values(self.subject)
        self.visible = [i for i, output in enumerate(self.op.outputs) if output.name in self.op.returns]
        variadic = self.op.inputs[0].variadic
        wanted = range(len(self.inputs)) if variadic else differentiable(self.op)
        self.wanted = [i for i in wanted if self.inputs[i] is not None and self.inputs[i].dtype.kind == "f"]

    def outputs(self, *inputs: np.ndarray | None) -> list[np.ndarray]:
        """The visible outputs by the oracle; those that are no floats have no gradient."""
        found = questions.oracle(self.op, inputs, self.attributes)
        return [found[i] for i in self.visible if found[i].dtype.kind == "f"]

    def directions(self, dtype: type, constant: bool = False) -> list[np.ndarray]:
        """A gradient for each visible output: what backward begins with."""
        rng = np.random.default_rng(self.subject.seed + 1)
        shapes = [y.shape for y in self.outputs(*self.inputs)]
        draw = np.ones if constant else functools.partial(rng.uniform, -1.0, 1.0)
        drawn = [draw(shape) if constant else draw(size=shape) for shape in shapes]
        return [np.asarray(v).astype(np.float32).astype(dtype) for v in drawn]

    def by_runtime(
        self, device: str, inputs: Sequence[np.ndarray | None], directions: Sequence[np.ndarray], layout: str = "dense"
    ) -> list[np.ndarray]:
        """The vector-Jacobian product, in the dtype of the inputs."""
        dougong = self.dougong
        tensors = [self._tensor(x, device, layout) for x in inputs]
        leaves = [tensors[i] for i in self.wanted]
        for leaf in leaves:
            leaf.requires_grad = True
        result = self._call(tensors)
        results = [y for y in (result if isinstance(result, tuple) else (result,)) if y.is_floating_point()]
        starts = [self._direction(v, device, layout) for v in directions]
        found = dougong.autograd.grad(results, leaves, starts, allow_unused=True)
        return [
            np.zeros(leaf.shape, x.dtype) if g is None else g.cpu().numpy()
            for g, leaf, x in zip(found, leaves, [inputs[i] for i in self.wanted], strict=True)
        ]

    def _call(self, tensors: list[Any]) -> Any:
        arguments = [tensors] if self.op.inputs[0].variadic else tensors
        attributes = dict(self.attributes)
        for attribute in self.op.attributes:
            if attribute.type == "dtype":  # the dtype of the result is the one that is asked for now
                attributes[attribute.name] = next(t.dtype for t in tensors if t is not None)
        return getattr(self.dougong.ops, self.op.name)(*arguments, **attributes)

    def _tensor(self, x: np.ndarray | None, device: str, layout: str) -> Any:
        if x is None or layout != "strided":
            return None if x is None else self.dougong.tensor(x, device=device)
        if x.ndim == 0:
            return self.dougong.tensor(np.stack([x, x]), device=device)[1]
        if x.ndim == 1:
            return self.dougong.tensor(np.repeat(x, 2), device=device)[::2]
        return self.dougong.tensor(np.ascontiguousarray(x.T), device=device).T

    def _direction(self, v: np.ndarray, device: str, layout: str) -> Any:
        """In the layout ``summed`` one number, broadcast: what the gradient of a sum looks like."""
        if layout == "summed" and v.size:
            return self.dougong.tensor(v.reshape(-1)[:1], device=device).reshape(()).expand(v.shape)
        return self._tensor(v, device, layout)


def formula_errors(gradients: Gradients) -> Iterator[tuple[str, float, float, float]]:
    """For each input its name, the derivative in a random direction by differences and by the runtime, and a scale."""
    inputs, rng = list(gradients.inputs), np.random.default_rng(gradients.subject.seed + 2)
    directions = gradients.directions(np.float64)
    found = gradients.by_runtime("cpu:0", inputs, directions)
    for position, gradient in zip(gradients.wanted, found, strict=True):
        step = rng.uniform(-1.0, 1.0, size=inputs[position].shape)
        along = functools.partial(_along, gradients, directions, position, step)
        terms = [along(STEP), along(-STEP), along(2 * STEP), along(-2 * STEP)]
        difference = (8 * (terms[0][0] - terms[1][0]) - (terms[2][0] - terms[3][0])) / (12 * STEP)
        scale = float(np.sum(np.abs(gradient * step))) + terms[0][1]
        yield input_name(gradients.op, position), float(difference), float(np.sum(gradient * step)), scale


def _along(
    gradients: Gradients, directions: Sequence[np.ndarray], position: int, step: np.ndarray, length: float
) -> tuple[float, float]:
    """The outputs times the directions, and the same of absolute values, some way along a step of one input."""
    inputs = list(gradients.inputs)
    inputs[position] = inputs[position] + length * step
    products = [v * y for v, y in zip(directions, gradients.outputs(*inputs), strict=True)]
    return float(sum(np.sum(p) for p in products)), float(sum(np.sum(np.abs(p)) for p in products))


def input_name(op: Any, position: int) -> str:
    return f"{op.inputs[0].name}[{position}]" if op.inputs[0].variadic else op.inputs[position].name


@functools.lru_cache(maxsize=32)
def _expected(subject: Subject, constant: bool, dougong: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The host's float64 gradients, and the errors to be expected of float32."""
    gradients = Gradients(dougong, subject)
    directions = gradients.directions(np.float64, constant)
    references = gradients.by_runtime("cpu:0", gradients.inputs, directions)

    def computed(*arrays: np.ndarray | None) -> list[np.ndarray]:
        inputs, starts = arrays[: len(gradients.inputs)], arrays[len(gradients.inputs) :]
        return gradients.by_runtime("cpu:0", inputs, starts)

    narrow = [narrowed(x) for x in (*gradients.inputs, *directions)]
    return references, moved.expected_errors(computed, narrow, references, subject.seed)


def narrowed(x: np.ndarray | None) -> np.ndarray | None:
    return x if x is None or x.dtype.kind != "f" else x.astype(np.float32)


def judge_device(
    gradients: Gradients, device: str, layout: str, arithmetic: tolerance.Arithmetic
) -> Iterator[tuple[str, np.ndarray, np.ndarray, tolerance.Judgement]]:
    """For each input its name, the device's float32 gradient, the host's float64 gradient, and the judgement."""
    constant = layout == "summed"
    references, errors = _expected(gradients.subject, constant, gradients.dougong)
    inputs = [narrowed(x) for x in gradients.inputs]
    found = gradients.by_runtime(device, inputs, gradients.directions(np.float32, constant), layout)
    for position, y, reference, error in zip(gradients.wanted, found, references, errors, strict=True):
        if y.shape != reference.shape:
            judgement = tolerance.Judgement(np.ones(1, bool), f"the shape is {y.shape}, wanted {reference.shape}")
        else:
            judgement = tolerance.composite(y, reference, error, arithmetic)
        yield input_name(gradients.op, position), y, reference, judgement
