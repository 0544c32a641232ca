"""Generated kernels on a real OpenCL device, held to the oracles: no kernel of this plugin is written by hand."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong_conformance import questions, tolerance
from dougong_kernels import generator

DEVICE = "opencl:0"
OPS = [op.name for op in questions.kernels().load_all() if generator.supports(op)]
# One dtype of each kind; all of them are asked for by `dougong conformance run opencl:0`.
DTYPES = ("float32", "bfloat16", "int32", "bool")


def asked(name: str) -> list[questions.Question]:
    """The op's own cases, and the first of its family's, in some dtypes."""
    found = [q for q in questions.of_op(name) if not q.dtypes or q.dtypes[0] in DTYPES or q.first]
    return [q for q in found if q.first or not q.case.startswith(("shape-", "broadcast-"))]


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
