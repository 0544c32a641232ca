"""Gradients through the runtime, and what to hold them against: nothing here knows an op.

Finite differences in float32 cannot see errors below 1e-4, so a gradient is judged in two steps. Its *formula* is held,
in float64 on the host, against differences of the oracle. The *device's* float32 gradient is then held, element by
element, against the host's float64 gradient.

No step of the differences may cross a kink, so `subjects` draws values that keep apart. `corners` asks the same where
they meet, `second_order` the same of the gradient's own gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import moved, questions, tolerance
from .subjects import Subject, differentiable, values

STEP = 1e-3
# The error of a central difference of fourth order with this step is some 1e-11 of the values in play, their rounding
# over the step 1e-13: 1e-8 leaves room for steep functions, and a wrong term stands out by orders of magnitude.
FORMULA_LIMIT = 1e-8
FORMULA_SIZE = 100  # elements an input: more leave no gaps
LAYOUTS = ("dense", "strided", "summed")
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
        tensors = [self._tensor(x, device, layout) for x in inputs]
        leaves = [tensors[i] for i in self.wanted]
        for leaf in leaves:
            leaf.requires_grad = True
        found = self.first(tensors, [self._direction(v, device, layout) for v in directions])
        return [
            np.zeros(leaf.shape, x.dtype) if g is None else g.cpu().numpy()
            for g, leaf, x in zip(found, leaves, [inputs[i] for i in self.wanted], strict=True)
        ]

    def first(self, tensors: Sequence[Any], starts: Sequence[Any], create_graph: bool = False) -> Sequence[Any]:
        """The gradients of a call for all wanted inputs; None for what it does not depend on."""
        result = self._call(list(tensors))
        results = [y for y in (result if isinstance(result, tuple) else (result,)) if y.is_floating_point()]
        leaves = [tensors[i] for i in self.wanted]
        return self.dougong.autograd.grad(results, leaves, list(starts), create_graph=create_graph, allow_unused=True)

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
        difference, scale = central(along)
        scale += float(np.sum(np.abs(gradient * step)))
        yield input_name(gradients.op, position), difference, float(np.sum(gradient * step)), scale


def central(along: Callable[[float], tuple[float, float]]) -> tuple[float, float]:
    """The derivative of the first of two values at 0, by central differences of fourth order, and the second one."""
    near, far = ((along(length), along(-length)) for length in (STEP, 2 * STEP))
    difference = 8 * (near[0][0] - near[1][0]) - (far[0][0] - far[1][0])
    return difference / (12 * STEP), near[0][1]


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

    meeting = len(gradients.inputs) if subject.corners else 0
    narrow = [narrowed(x) for x in (*gradients.inputs, *directions)]
    return references, moved.expected_errors(computed, narrow, references, subject.seed, meeting)


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
