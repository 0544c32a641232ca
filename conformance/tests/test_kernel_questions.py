"""What a kernel is told, and what the judge says about its answer."""

from __future__ import annotations

import numpy as np
import pytest
from dougong_conformance import attributes, questions, shrink, tolerance
from dougong_conformance.case import Fail
from dougong_conformance.explain import describe, explain
from dougong_conformance.launch import Refused
from dougong_conformance.native import NULL, C, dtype_code
from dougong_conformance.questions import Answer, answer_to


def op(name: str):
    return questions.kernels().load(name)


def answer(name: str, *inputs: np.ndarray, **values) -> Answer:
    return answer_to(op(name), inputs, values, (str(inputs[0].dtype),), seed=1)


# -- attributes -----------------------------------------------------------------------------------------------------


def test_attribute_structs_hold_the_values_and_their_size():
    values = {"kernel_size": (2, 3), "stride": (1, 1), "padding": (0, 1), "dilation": (1, 2), "ceil_mode": True}
    struct, _alive = attributes.make(op("max_pool2d"), values)
    assert (struct.struct_size, struct.ceil_mode) == (80, 1)
    assert [struct.kernel_size[i] for i in range(struct.kernel_size_count)] == [2, 3]
    assert [struct.dilation[i] for i in range(struct.dilation_count)] == [1, 2]


def test_scalars_keep_their_kind_and_enums_their_order():
    for value, kind in ((3, C.DG_SCALAR_INT), (True, C.DG_SCALAR_INT), (0.5, C.DG_SCALAR_FLOAT)):
        struct, _alive = attributes.make(op("masked_fill"), {"value": value})
        assert struct.value.kind == kind
        assert (struct.value.real if kind == C.DG_SCALAR_FLOAT else struct.value.integer) == value
    struct, _alive = attributes.make(op("scatter"), {"axis": 1, "reduce": "add"})
    assert (struct.axis, struct.reduce) == (1, C.DG_SCATTER_REDUCE_ADD)
    struct, _alive = attributes.make(op("cast"), {"dtype": "bfloat16"})
    assert struct.dtype == dtype_code("bfloat16")


def test_an_op_without_attributes_gets_null():
    assert attributes.make(op("relu"), {}) == (NULL, [])


# -- answers --------------------------------------------------------------------------------------------------------


def test_the_answer_has_the_outputs_of_the_op_in_their_dtypes():
    x = np.ones((3, 4), np.float16)
    layer_norm = answer("layer_norm", x, None, None, axes=1, epsilon=1e-5)
    assert [(o.name, str(o.dtype), o.shape) for o in layer_norm.call.outputs] == [
        ("y", "float16", (3, 4)),
        ("mean", "float32", (3,)),
        ("rstd", "float32", (3,)),
    ]


def test_an_index_out_of_range_wants_a_failure_and_still_has_a_shape():
    x, index = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.array([[0, 3, 1]])
    wrong = answer_to(op("gather"), (x, index), {"axis": 1}, ("float32", "int64"), seed=1)
    assert wrong.out_of_range
    assert wrong.call.outputs[0].shape == (1, 3)


def test_the_same_question_draws_the_same_inputs_and_another_seed_draws_others():
    question = next(q for q in questions.of_op("add") if q.case == "shape-1025" and q.dtypes == ("float32",))
    first = questions.answer(question, 0)
    questions.answer.cache_clear()
    again, other = questions.answer(question, 0), questions.answer(question, 1)
    assert [x.tobytes() for x in first.call.inputs] == [x.tobytes() for x in again.call.inputs]
    assert [x.tobytes() for x in first.call.inputs] != [x.tobytes() for x in other.call.inputs]


def test_small_integers_want_exact_sums_and_others_a_bound():
    whole = np.ones((4, 8), np.float32)
    y = np.full(4, np.nextafter(np.float32(8), np.float32(9)))
    assert not answer("sum", whole, axis=(1,), keepdim=False).judge([y], tolerance.IEEE)[0].right
    drawn = whole + np.float32(0.25)
    y = np.full(4, np.nextafter(np.float32(10), np.float32(11)))
    assert answer("sum", drawn, axis=(1,), keepdim=False).judge([y], tolerance.IEEE)[0].right


# -- what the judge says --------------------------------------------------------------------------------------------


def test_a_wrong_element_is_shown_in_decimal_and_hex_with_its_place_and_distance():
    x = np.array([[1.0, -2.0, 4.0]], np.float32)
    right = answer("neg", x)
    y = np.array([[-1.0, np.nextafter(np.float32(2), np.float32(3)), -4.0]], np.float32)
    [judgement] = right.judge([y], tolerance.IEEE)
    message, detail = explain(right.call, right.call.outputs[0], y, right.references[0], judgement, "sliced")
    assert "1 of 3 elements" in message
    assert "[0, 1] expected 2.0 (0x40000000), got 2.000000238418579 (0x40000001), 1 ulp" in detail
    assert "neg(float32[1, 3]) -> float32[1, 3], layout sliced" in detail


def test_a_bool_that_is_neither_0_nor_1_is_shown_by_its_byte():
    x = np.array([True, False])
    right = answer("logical_not", x)
    y = np.array([0, 255], np.uint8).view(bool)
    [judgement] = right.judge([y], tolerance.IEEE)
    assert judgement.wrong.tolist() == [False, True]
    assert (
        "(0x01), got True (0xff)"
        in explain(right.call, right.call.outputs[0], y, right.references[0], judgement, "dense")[0]
    )


def test_a_failure_is_shrunk_to_the_smallest_call_that_still_fails():
    def check(candidate: Answer) -> None:
        if candidate.call.inputs[0].shape[-1] > 4:
            raise Fail(f"{candidate.call.inputs[0].shape[-1]} columns are too many")

    large = answer("neg", np.ones((6, 20), np.float32))
    line = shrink.smallest(check, large, Fail("too many"))
    assert line == "smallest found: neg(float32[1, 5]) -> float32[1, 5], layout the same: 5 columns are too many"


def test_a_call_that_cannot_be_made_smaller_is_left_as_it_is():
    def refuses_others(candidate: Answer) -> None:
        raise Refused("no")

    assert shrink.smallest(refuses_others, answer("neg", np.ones(9, np.float32)), Fail("x")) == ""


def test_the_call_is_described_with_what_is_left_out():
    x = np.ones((2, 3), np.float32)
    text = describe(answer("layer_norm", x, None, None, axes=1, epsilon=1e-5).call, "dense")
    assert text.startswith("layer_norm(float32[2, 3], null, null, axes=1, epsilon=1e-05) -> float32[2, 3], float32[2]")


@pytest.mark.parametrize("name", ["neg", "matmul", "gather", "cast"])
def test_questions_of_an_op_have_printable_names_each_once(name):
    ids = [question.id for question in questions.of_op(name)]
    assert len(ids) == len(set(ids)) > 0
    assert all(i.startswith(f"{name}/") and i.isascii() and " " not in i for i in ids)
