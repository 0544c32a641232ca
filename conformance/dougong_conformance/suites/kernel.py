"""Level kernel: each kernel against its op's oracle, in every layout and dtype, with all memory watched.

A case is ``kernel/OP/DTYPES/CASE/LAYOUT``. Its inputs are drawn from its id, so that running it again is exact.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np

from .. import layouts, questions, shrink, tolerance
from ..case import Case, Context, Fail, Unsupported
from ..explain import explain
from ..launch import POISONS, Launch, Refused
from ..native import C, Device, Kernel, dtype_code
from ..questions import Answer, Question
from ..session import Session

LEVEL = "kernel"
IN_PLACE = "in-place"

BASE_RULES = ("KRN-001", "KRN-003", "KRN-004", "KRN-005", "KRN-009", "KRN-010", "KRN-013", "KRN-017", "OPS-001")
LAYOUT_RULES = {
    "dense": ("KRN-008", "KRN-011", "KRN-016"),
    "offset": ("KRN-012", "MEM-004"),
    "misaligned": ("KRN-012", "MEM-004"),
    IN_PLACE: ("KRN-007",),
}


def cases(context: Context) -> Iterator[Case]:
    for name in questions.kernels().op_names():
        for number, question in enumerate(questions.of_op(name)):
            for layout in _layouts_for(question, number):
                yield _case(question, layout)


def _case(question: Question, layout: str) -> Case:
    rules = BASE_RULES + LAYOUT_RULES.get(layout, ("KRN-006",)) + questions.rules_of(question)
    run = functools.partial(ask, question, layout)
    summary = f"{question.op} of {' and '.join(question.dtypes)}, case {question.case}, layout {layout}"
    return Case(f"kernel/{question.id}/{layout}", LEVEL, rules, run, summary=summary)


def _layouts_for(question: Question, number: int) -> list[str]:
    """All layouts for the op's first dtypes, else dense and one other, which goes round."""
    possible = questions.layouts_of(question)
    if question.first or len(possible) < 3:
        return possible
    return [possible[0], possible[1 + number % (len(possible) - 1)]]


# -- a case --------------------------------------------------------------------------------------------------------


def ask(question: Question, layout: str, session: Session) -> None:
    """Launches every kernel of the device that accepts the call, and compares with the oracle."""
    kernels = _accepting(session.device, question, layout)
    asked = dataclasses.replace(question, repeated=layout == "broadcast")
    answer = questions.answer(asked, session.seed)
    refusals = [_judge_kernel(session, kernel, answer, layout) for kernel in kernels]
    if all(refusals):
        raise Unsupported(refusals[0])


def _judge_kernel(session: Session, kernel: Kernel, answer: Answer, layout: str) -> str:
    """An empty text, or the kernel's reason to refuse the call. Raises Fail if it is wrong."""
    try:
        for place in _places(answer, layout):
            check(session.device, kernel, answer, layout, place)
    except Refused as refused:
        return str(refused)
    except Fail as fail:
        smaller = shrink.smallest(lambda a: check(session.device, kernel, a, layout), answer, fail)
        raise Fail(fail.message, "\n".join(filter(None, [fail.detail, smaller]))) from None
    return ""


def check(device: Device, kernel: Kernel, answer: Answer, layout: str, in_place: int | None = None) -> None:
    """One call in one layout: twice, into memory poisoned differently, where the layout is dense."""
    shape_of_memory = "dense" if layout == IN_PLACE else layout
    launch = Launch(device, kernel, answer.call, shape_of_memory, in_place)
    try:
        if answer.out_of_range:
            launch.run_failing(POISONS[0], C.DG_STATUS_OUT_OF_RANGE)
            return
        first = launch.run(POISONS[0])
        _compare(answer, first, layout, _arithmetic(device))
        if layout == "dense":
            second = launch.run(POISONS[1])
            _compare(answer, second, layout, _arithmetic(device))
            if kernel.has("DETERMINISTIC"):
                _require_same_bits(answer, first, second)
    finally:
        launch.close()


def _compare(answer: Answer, outputs: list[np.ndarray], layout: str, arithmetic: tolerance.Arithmetic) -> None:
    judged = answer.judge(outputs, arithmetic)
    for spec, y, reference, judgement in zip(answer.call.outputs, outputs, answer.references, judged, strict=True):
        if not judgement.right:
            raise Fail(*explain(answer.call, spec, y, reference, judgement, layout))


def _require_same_bits(answer: Answer, first: list[np.ndarray], second: list[np.ndarray]) -> None:
    for spec, a, b in zip(answer.call.outputs, first, second, strict=True):
        if a is not None and a.tobytes() != b.tobytes():
            different = int(np.count_nonzero(tolerance.bits(a) != tolerance.bits(b)))
            raise Fail(
                f"output {spec.name}: {different} of {a.size} elements have other bits the second time, and the kernel "
                "has the flag DG_KERNEL_DETERMINISTIC"
            )


# -- which kernels -------------------------------------------------------------------------------------------------


def _accepting(device: Device, question: Question, layout: str) -> list[Kernel]:
    """The device's kernels for this call. Raises Unsupported if there is none."""
    own = _kernels_by_op(device).get(question.op, [])
    if not own:
        raise Unsupported("no kernel: the host computes it", wants=f"kernel {question.op}")
    _require_declared(device, question)
    typed = [kernel for kernel in own if _accepts(kernel, question.dtypes)]
    if not typed:
        raise Unsupported(f"no kernel for {' and '.join(question.dtypes)}: the host converts or computes it")
    able = [kernel for kernel in typed if _takes(kernel, layout)]
    if not able:
        raise Unsupported(f"no kernel takes the layout {layout}: the host copies first")
    return able


@functools.lru_cache(maxsize=4)
def _kernels_by_op(device: Device) -> dict[str, list[Kernel]]:
    found: dict[str, list[Kernel]] = {}
    for kernel in device.kernels():
        found.setdefault(kernel.op, []).append(kernel)
    return found


@functools.lru_cache(maxsize=4)
def _declared(device: Device) -> tuple[str, ...] | None:
    return device.dtypes()


@functools.lru_cache(maxsize=4)
def _arithmetic(device: Device) -> tolerance.Arithmetic:
    bits = device.properties().capabilities
    return tolerance.Arithmetic(
        flushes_subnormals=bool(bits & C.DG_DEVICE_FLUSHES_SUBNORMALS),
        truncates_sums=bool(bits & C.DG_DEVICE_TRUNCATES_SUMS),
    )


def _require_declared(device: Device, question: Question) -> None:
    declared = _declared(device)
    for dtype in question.dtypes:
        if declared is not None and dtype not in declared:
            raise Unsupported(f"the device does not declare {dtype}")


def _accepts(kernel: Kernel, dtypes: tuple[str, ...]) -> bool:
    for variable, dtype in enumerate(dtypes):
        accepted = kernel.types(variable)
        if accepted is not None and dtype_code(dtype) not in accepted:
            return False
    return True


def _takes(kernel: Kernel, layout: str) -> bool:
    if layout == IN_PLACE:
        return kernel.has("IN_PLACE")
    return layout in layouts.DENSE_LAYOUTS or kernel.has("STRIDED")


def _places(answer: Answer, layout: str) -> list[int | None]:
    """The inputs whose memory the first output takes, one after the other; elsewhere none."""
    if layout != IN_PLACE:
        return [None]
    output = answer.call.outputs[0]
    fitting = [
        i
        for i, x in enumerate(answer.call.inputs)
        if x is not None and (x.dtype, x.shape) == (output.dtype, output.shape)
    ]
    if not fitting:
        raise Refused("no input has the shape and dtype of the output")
    return fitting
