"""Generated kernels on a real OpenCL device, held to the oracles: no kernel of this plugin is written by hand."""

from __future__ import annotations

import os

import dougong
import numpy as np
import pytest
from dougong_conformance import questions, tolerance
from dougong_kernels import generator

DEVICE = "opencl:0"
KNOWN = [op.name for op in questions.kernels().load_all() if generator.supports(op)]
# A few of each family, in one dtype of each kind, because the driver takes long to compile: with DOUGONG_TEST_ALL set
# everything is asked.
FEW = "add addcmul arange argmax cast cat conv2d cumsum exp floor_divide gather matmul max max_pool2d pad scatter sort"
EVERYTHING = bool(os.environ.get("DOUGONG_TEST_ALL"))
OPS = KNOWN if EVERYTHING else [*FEW.split(), "sum", "uniform", "where"]
DTYPES = ("float32", "bfloat16", "int32", "bool")


def asked(name: str) -> list[questions.Question]:
    """Some dtypes in the first case, and the first dtypes in some cases, those that must fail among them."""
    found = list(questions.of_op(name))
    if EVERYTHING:
        return found
    cases = questions.cases_by_id(name)
    first = [q for q in found if q.first]
    wrong = [q for q in first if "raises" in cases[q.case]][:1]
    return [q for q in found if q.case == found[0].case and q.dtypes[0] in DTYPES] + first[1:3] + wrong


def with_gaps(tensor: dougong.Tensor | None) -> dougong.Tensor | None:
    """The same values in every second element of its memory."""
    if tensor is None or tensor.ndim == 0:
        return tensor
    room = dougong.empty(*tensor.shape[:-1], 2 * tensor.shape[-1], dtype=tensor.dtype, device=tensor.device)
    view = room[..., ::2]
    view[...] = tensor
    return view


def call(answer: questions.Answer, strided: bool) -> list[np.ndarray | None]:
    op = answer.call.op
    tensors = [None if x is None else dougong.tensor(x.copy(), device=DEVICE) for x in answer.call.inputs]
    tensors = [with_gaps(t) for t in tensors] if strided else tensors
    arguments = [tensors] if op.inputs and op.inputs[0].variadic else tensors
    place = {} if op.inputs else {"device": DEVICE}
    result = getattr(dougong.ops, op.name)(*arguments, **answer.call.attributes, **place)
    found = [y.cpu().numpy() for y in (result if isinstance(result, tuple) else (result,))]
    return found + [None] * (len(op.outputs) - len(found))


@pytest.mark.parametrize("name", OPS)
def test_a_generated_kernel_gives_what_the_oracle_says(name: str) -> None:
    for question in asked(name):
        answer = questions.answer(question, 0)
        for strided in (False, True) if answer.call.inputs and question.first else (False,):
            if answer.out_of_range:
                with pytest.raises(dougong.OutOfRangeError):
                    call(answer, strided)
                continue
            for judgement in answer.judge(call(answer, strided), tolerance.IEEE):
                assert judgement.right, f"{question.id}, {'strided' if strided else 'dense'}: {judgement.reason}"
