"""Gradients of gradients: by the runtime, in float64 on the host, against differences of its first gradients.

Those are held against the oracle by `gradients`; so these are too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

import numpy as np

from . import questions
from .gradients import Gradients, central, input_name

FAMILIES = ("elementwise", "matmul")  # where each op that has a gradient has a second one
LIMIT = 1e-8


@functools.cache
def exists(name: str) -> bool:
    """Whether the ops that the gradient is made of have gradients themselves. Those in FAMILIES must."""
    op = questions.kernels().load(name)
    if op.elementwise or op.family in FAMILIES or not isinstance(op.grad, dict) or not op.grad:
        return True
    words = set(re.findall(r"\w+", " ".join(op.grad.values())))
    backward = [word for word in words if word.endswith("_backward") and word in questions.kernels().op_names()]
    return all(questions.kernels().load(word).differentiable for word in backward)


def errors(gradients: Gradients) -> Iterator[tuple[str, float, float, float]]:
    """As `gradients.formula_errors`, of a random sum of the gradients; for each input and each start of backward."""
    rng = np.random.default_rng(gradients.subject.seed + 3)
    count, points = len(gradients.inputs), [*gradients.inputs, *gradients.directions(np.float64)]
    weights = [rng.uniform(-1.0, 1.0, gradients.inputs[i].shape) for i in gradients.wanted]
    wanted = [*gradients.wanted, *range(count, len(points))]
    for position, second in zip(wanted, _second(gradients, points, weights, wanted), strict=True):
        step = rng.uniform(-1.0, 1.0, size=points[position].shape)
        along = functools.partial(_along, gradients, points, weights, position, step)
        difference, scale = central(along)
        name = input_name(gradients.op, position) if position < count else f"the start of backward {position - count}"
        yield name, difference, float(np.sum(second * step)), scale + float(np.sum(np.abs(second * step)))


def _along(
    gradients: Gradients,
    points: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray],
    position: int,
    step: np.ndarray,
    length: float,
) -> tuple[float, float]:
    moved = list(points)
    moved[position] = moved[position] + length * step
    count = len(gradients.inputs)
    products = [
        w * g for w, g in zip(weights, gradients.by_runtime("cpu:0", moved[:count], moved[count:]), strict=True)
    ]
    return float(sum(map(np.sum, products))), float(sum(np.sum(np.abs(p)) for p in products))


def _second(
    gradients: Gradients,
    points: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray],
    wanted: Sequence[int],
) -> list[np.ndarray]:
    """The gradient of the sum of weights times gradients; zeros where it does not depend on something."""
    dougong, count = gradients.dougong, len(gradients.inputs)
    tensors = [None if x is None else dougong.tensor(x) for x in points]
    leaves = [tensors[i] for i in wanted]
    for leaf in leaves:
        leaf.requires_grad = True
    first = gradients.first(tensors[:count], tensors[count:], create_graph=True)
    pairs = [(g, dougong.tensor(w)) for g, w in zip(first, weights, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [np.zeros(leaf.shape) for leaf in leaves]
    found = dougong.autograd.grad([g for g, _ in pairs], leaves, [w for _, w in pairs], allow_unused=True)
    return [np.zeros(leaf.shape) if g is None else g.numpy() for g, leaf in zip(found, leaves, strict=True)]
