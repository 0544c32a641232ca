"""Every op that is made of others gives, by them alone, what its oracle says."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import dougong
import pytest
from dougong import _core
from dougong_conformance import questions, tolerance

DEFINITIONS = questions.kernels()
COMPOSITES = [op.name for op in DEFINITIONS.load_all() if op.decompose]


@pytest.fixture(autouse=True)
def by_decomposition() -> Iterator[None]:
    _core._set_decompositions_first(True)
    yield
    _core._set_decompositions_first(False)


def steps(op) -> int:
    """How many roundings a decomposition has, at least one."""
    if op.decompose == "custom":
        return 4
    calls = sum(text.count("(") + text.count(" + ") + text.count(" - ") + text.count(" * ") + text.count(" / ")
                for text in op.decompose.values())  # fmt: skip
    return max(calls, 1)


def result(answer: questions.Answer):
    op = answer.call.op
    tensors = [None if x is None else dougong.tensor(x.copy()) for x in answer.call.inputs]
    arguments = [tensors] if op.inputs and op.inputs[0].variadic else tensors
    found = getattr(dougong.ops, op.name)(*arguments, **answer.call.attributes)
    found = [*found] if isinstance(found, tuple) else [found]
    arrays = [None if y is None else y.numpy() for y in found]
    return arrays + [None] * (len(op.outputs) - len(arrays))


def judged(answer: questions.Answer):
    """The judge's rule, with one unit in the last place more for each step where the op itself has one rounding."""
    op = answer.call.op
    if op.tolerance["class"] != "U":
        return answer.judge(result(answer), tolerance.IEEE)
    limits = op.tolerance["ulp"]
    extra = steps(op)
    wider = {k: v + extra for k, v in limits.items()} if isinstance(limits, dict) else limits + extra
    loose = dataclasses.replace(op, tolerance={**op.tolerance, "ulp": wider})
    call = dataclasses.replace(answer.call, op=loose)
    return dataclasses.replace(answer, call=call).judge(result(answer), tolerance.IEEE)


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_decomposition_gives_what_the_oracle_says(name: str) -> None:
    asked = 0
    for question in questions.of_op(name):
        if not question.first and question.dtypes[0] not in ("float16", "int8", "bool"):
            continue  # the others take the same steps as float32 and int64
        answer = questions.answer(question, 0)
        asked += 1
        if answer.out_of_range:
            with pytest.raises(dougong.OutOfRangeError):
                result(answer)
            continue
        for judgement in judged(answer):
            assert judgement.right, f"{question.id}: {judgement.reason}"
    assert asked
    counted = {row.op for row in dougong.ledger() if row.step == "decomposed"}
    assert name in counted, "nothing was decomposed"
