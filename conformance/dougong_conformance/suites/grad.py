"""Level grad: the gradient of each op through the runtime, and what the host computes in the device's place."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .. import corners, gradients, questions, second_order, subjects, tolerance
from ..case import Case, Context, Fail
from ..gradients import Gradients
from ..session import Session
from ..subjects import Subject

LEVEL = "grad"
KINKS = Path(gradients.__file__).parent / "kinks.yaml"


def cases(context: Context) -> Iterator[Case]:
    if not (questions.kernels().ROOT / "cases.py").is_file():
        return
    for name in questions.kernels().op_names():
        op = questions.kernels().load(name)
        if op.differentiable:
            yield from _cases_of_gradients(name)
        yield _case(f"{name}/forward", ("RUN-002",), functools.partial(forward, name), forward)
        if op.elementwise:
            yield _case(f"{name}/empty", ("RUN-006",), functools.partial(empty, name), empty)
    for number, kink in enumerate(kinks()):
        yield _case(f"{kink['op']}/kink-{number}", ("RUN-001",), functools.partial(at_kink, kink), at_kink)


def _cases_of_gradients(name: str) -> Iterator[Case]:
    for subject in subjects.subjects(name):
        inputs = [x for x in subjects.values(subject)[0] if x is not None]
        rules = ("RUN-001", "RUN-006") if any(x.size == 0 for x in inputs) else ("RUN-001",)
        if all(x.size <= gradients.FORMULA_SIZE for x in inputs) and subjects.is_finite(subject):
            yield _case(f"{name}/formula/{subject.case}", rules, functools.partial(formula, subject), formula)
            if second_order.exists(name):
                ask = functools.partial(of_gradient, subject)
                yield _case(f"{name}/second/{subject.case}", ("RUN-010",), ask, of_gradient)
        yield _case(f"{name}/device/{subject.case}", rules, functools.partial(on_device, subject), on_device)
    for subject in subjects.corner_subjects(name):
        yield _case(f"{name}/corners/{subject.case}", ("RUN-011",), functools.partial(at_corners, subject), at_corners)
        ask = functools.partial(on_device, subject)
        yield _case(f"{name}/device-corners/{subject.case}", ("RUN-001",), ask, on_device)


def _case(name: str, rules: tuple[str, ...], run: Any, described: Any) -> Case:
    return Case(f"grad/{name}", LEVEL, rules, run, summary=" ".join(described.__doc__.split()))


# -- gradients -----------------------------------------------------------------------------------------------------


def formula(subject: Subject, session: Session) -> None:
    """In float64 on the host the gradient agrees with differences of the oracle, in a random direction."""
    for name, wanted, found, scale in gradients.formula_errors(Gradients(session.load_runtime(), subject)):
        if not abs(found - wanted) <= gradients.FORMULA_LIMIT * scale:
            raise Fail(
                f"{subject.op}: the derivative for {name} in a random direction is {found!r} by the gradient and "
                f"{wanted!r} by differences of the oracle"
            )


def of_gradient(subject: Subject, session: Session) -> None:
    """In float64 on the host the gradient of the gradient agrees with differences of the gradient."""
    for name, wanted, found, scale in second_order.errors(Gradients(session.load_runtime(), subject)):
        if not abs(found - wanted) <= second_order.LIMIT * scale:
            raise Fail(
                f"{subject.op}: the derivative of its gradient for {name} in a random direction is {found!r} by the "
                f"gradient's own gradient and {wanted!r} by differences of the gradient"
            )


def at_corners(subject: Subject, session: Session) -> None:
    """In float64 on the host, at ties, kinks and zeros, the gradient lies among the slopes on both sides of the point,
    and is the derivative where they agree."""
    asked = Gradients(session.load_runtime(), subject)
    for found in corners.at_corners(asked):
        if np.any(found.wrong):
            place = int(np.flatnonzero(found.wrong)[0])
            raise Fail(f"{subject.op}: {found.sentence(place)}", _point(asked, place))


def _point(asked: Gradients, place: int) -> str:
    if not asked.op.elementwise:
        return "the inputs: " + "; ".join(str(None if x is None else x.tolist()) for x in asked.inputs)
    return "at the point " + ", ".join("none" if x is None else repr(float(x[place])) for x in asked.inputs)


def on_device(subject: Subject, session: Session) -> None:
    """The device's float32 gradient agrees, element by element, with the host's float64 gradient, in any layout."""
    dougong = session.load_runtime()
    arithmetic = _arithmetic(dougong, session.device_string)
    asked = Gradients(dougong, subject)
    for layout in gradients.LAYOUTS:
        for name, y, reference, judgement in gradients.judge_device(asked, session.device_string, layout, arithmetic):
            if not judgement.right:
                raise Fail(
                    f"the gradient of {subject.op} for {name}, layout {layout}: {judgement.reason}",
                    _furthest(y, reference),
                )


def _furthest(y: np.ndarray, reference: np.ndarray) -> str:
    if y.shape != reference.shape or not y.size:
        return ""
    place = np.unravel_index(np.argmax(tolerance.distance(y, reference)), y.shape)
    index = tuple(map(int, place))
    return f"furthest off at {index}: wanted {float(reference[index])!r}, found {float(y[index])!r}"


def _arithmetic(dougong: Any, device: str) -> tolerance.Arithmetic:
    declared = dougong.device(device).properties["capabilities"]
    return tolerance.Arithmetic(
        flushes_subnormals="flushes_subnormals" in declared, truncates_sums="truncates_sums" in declared
    )


# -- kinks ---------------------------------------------------------------------------------------------------------


@functools.cache
def kinks() -> tuple[dict[str, Any], ...]:
    """The gradients that hold where a derivative does not exist, as stated."""
    return tuple(yaml.safe_load(KINKS.read_text(encoding="utf-8")))


def at_kink(kink: dict[str, Any], session: Session) -> None:
    """Where there is no derivative the gradient is the stated one: another side of the kink is another number."""
    dougong, device = session.load_runtime(), session.device_string
    leaves = [
        dougong.tensor(x, dtype=dougong.int64 if wanted is None else dougong.float32, device=device)
        for x, wanted in zip(kink["inputs"], kink["gradients"], strict=True)
    ]
    for leaf in leaves:
        leaf.requires_grad = leaf.is_floating_point()
    result = getattr(dougong.ops, kink["op"])(*leaves, **kink.get("attributes", {}))
    result = result[0] if isinstance(result, tuple) else result
    start = dougong.tensor(kink["dy"], dtype=dougong.float32, device=device)
    for leaf, wanted in zip(leaves, kink["gradients"], strict=True):
        if wanted is None:
            continue
        (found,) = dougong.autograd.grad(result, leaf, start, retain_graph=True)
        if not np.allclose(found.cpu().numpy(), np.array(wanted, np.float32), rtol=1e-6, atol=0, equal_nan=True):
            raise Fail(f"{kink['op']} of {kink['inputs']}: the gradient is {found.tolist()}, wanted {wanted}")


# -- what the host computes ----------------------------------------------------------------------------------------


def forward(name: str, session: Session) -> None:
    """What the device has no kernel for gives the host's result, bit for bit, and is counted once; or it is made of the
    device's own kernels, and keeps the bounds of its class."""
    dougong, device = session.load_runtime(), session.device_string
    asked = _first_answer(name)
    op, inputs, attributes = asked.call.op, asked.call.inputs, asked.call.attributes
    if _has_kernel(dougong, op, inputs, attributes, device):
        session.note("the device has a kernel for this call")
        return
    before = _counted(dougong, device, name)
    found, wanted = (_call(dougong, op, inputs, attributes, place) for place in (device, "cpu:0"))
    steps = _counted(dougong, device, name) - before
    if steps["decomposed"]:
        session.note("it was made of other ops")
        _require_within_bounds(asked, found, _arithmetic(dougong, device))
    else:
        _require_same_bits(name, found, wanted)
    if str(dougong.device(device)) != "cpu:0" and steps["host"] + steps["decomposed"] != 1:
        raise Fail(f"{name}: one call without a kernel was counted as {dict(steps)} in dougong.ledger()")


def _counted(dougong: Any, device: str, name: str) -> Counter[str]:
    """How often the op was computed, by steps of the ladder that are no kernel of the device's own."""
    place = str(dougong.device(device))
    return Counter({row.step: row.count for row in dougong.ledger() if (row.device, row.op) == (place, name)})


def _require_same_bits(name: str, found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for y, r in zip(found, wanted, strict=True):
        if y.tobytes() != r.tobytes() or y.shape != r.shape:
            raise Fail(f"{name}: the host computed it in the device's place, and the result is not the host's own")


def _require_within_bounds(asked: questions.Answer, found: list[np.ndarray], arithmetic: tolerance.Arithmetic) -> None:
    """Of the outputs that a caller sees."""
    op = asked.call.op
    outputs = dict(zip(op.returns, found, strict=False))
    references = dict(zip([o.name for o in op.outputs], asked.references, strict=True))
    every = [outputs.get(o.name, references[o.name]) for o in op.outputs]
    judged = asked.judge(every, arithmetic)
    for output, judgement in zip(op.outputs, judged, strict=True):
        if output.name in outputs and not judgement.right:
            raise Fail(f"{op.name}, made of other ops: {output.name}: {judgement.reason}")


def _first_answer(name: str) -> questions.Answer:
    """To the first case that is no error, in its first dtypes."""
    for question in questions.of_op(name):
        answer = questions.answer(question, 0)
        if not answer.out_of_range:
            return answer
    raise Fail(f"{name} has no case that can be called")


def _has_kernel(dougong: Any, op: Any, inputs: Sequence[np.ndarray | None], attributes: Any, device: str) -> bool:
    try:
        with dougong.strict():
            _call(dougong, op, inputs, attributes, device)
    except dougong.UnsupportedError:
        return False
    return True


def _call(
    dougong: Any, op: Any, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any], device: str
) -> list[np.ndarray]:
    tensors = [None if x is None else dougong.tensor(x, device=device) for x in inputs]
    arguments = [tensors] if op.inputs and op.inputs[0].variadic else tensors
    named = {} if op.inputs else {"device": device}
    result = getattr(dougong.ops, op.name)(*arguments, **attributes, **named)
    results = result if isinstance(result, tuple) else (result,)
    return [y.cpu().numpy() for y in results if y is not None]


def empty(name: str, session: Session) -> None:
    """Tensors without elements give a result without elements, and gradients without elements."""
    dougong, device = session.load_runtime(), session.device_string
    op = questions.kernels().load(name)
    asked = _first_answer(name)
    drawn, attributes = asked.call.inputs, asked.call.attributes
    for shape in ((0,), (3, 0, 2)):
        tensors = [None if x is None else dougong.tensor(np.zeros(shape, x.dtype), device=device) for x in drawn]
        leaves = [t for i, t in enumerate(tensors) if i in subjects.differentiable(op) and t.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad = True
        result = getattr(dougong.ops, name)(*tensors, **attributes)
        if result.shape != shape:
            raise Fail(f"{name} of shape {shape} gives shape {result.shape}")
        if result.requires_grad:
            result.backward(dougong.ones_like(result))
            if any(leaf.grad is None or leaf.grad.shape != shape for leaf in leaves):
                raise Fail(f"{name} of shape {shape}: the gradients have other shapes")
