"""Cases become the inputs and attributes that they describe."""

from __future__ import annotations

import dougong_kernels as kernels
import numpy as np
import pytest
from dougong_kernels import cases

FLOAT_DTYPES = kernels.DTYPE_GROUPS["floats"]


def draw(name: str, case: dict, *dtypes: str, seed: int = 0):
    return cases.draw(kernels.load(name), {"id": "x", **case}, dtypes, seed)


def test_axes_are_counted_from_zero_ascending_and_none_means_all() -> None:
    assert draw("sum", {"x": [2, 3, 4], "axis": [-1, 0]}, "float32")[1]["axis"] == [0, 2]
    assert draw("sum", {"x": [2, 3, 4]}, "float32")[1] == {"axis": [0, 1, 2], "keepdim": False}
    assert draw("sum", {"x": []}, "float32")[1]["axis"] == []
    assert draw("softmax", {"x": [2, 3]}, "float32")[1]["axis"] == 1


def test_one_number_stands_for_all_of_a_list_and_the_first_value_of_an_enum_is_not_its_default() -> None:
    attributes = draw("max_pool2d", {"x": [1, 1, 4, 4], "kernel_size": 3, "stride": [1, 2]}, "float32")[1]
    lists = {"kernel_size": [3, 3], "stride": [1, 2], "padding": [0, 0], "dilation": [1, 1]}
    assert attributes == {**lists, "ceil_mode": False}
    case = {"x": [2, 3], "target": {"values": [0, 1]}, "weight": None}
    assert draw("cross_entropy", case, "float32", "int64")[1]["reduction"] == "mean"


def test_a_dtype_attribute_is_the_dtype_of_its_type_variable() -> None:
    assert draw("cast", {"x": [2]}, "float32", "bfloat16")[1]["dtype"] == cases.numpy_dtype("bfloat16")


def test_inputs_of_one_variable_share_its_dtype_and_an_accumulator_is_wider() -> None:
    case = {"dy": [2, 3], "x": [2, 3], "weight": None, "mean": [2], "rstd": [2]}
    for dtype, accumulator in (("bfloat16", "float32"), ("float64", "float64")):
        inputs, _ = draw("layer_norm_backward", case, dtype)
        found = [x if x is None else str(x.dtype) for x in inputs]
        assert found == [dtype, dtype, None, accumulator, accumulator]


def test_a_variadic_input_is_several() -> None:
    inputs, _ = draw("cat", {"tensors": [[2, 1], [2, 2], [2, 3]], "axis": 1}, "int8")
    assert [x.shape for x in inputs] == [(2, 1), (2, 2), (2, 3)]


def test_drawn_integers_reach_both_bounds_and_values_are_taken_as_written() -> None:
    index = draw("gather", {"x": [5], "index": {"shape": [500], "integers": [-5, 4]}, "axis": 0}, "int8", "int32")[0][1]
    assert (index.min(), index.max(), index.dtype) == (-5, 4, np.int32)
    big = 2**53 + 1
    assert draw("neg", {"x": {"values": [big]}}, "int64")[0][0].tolist() == [big]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_values_lie_in_the_domain_of_the_op(dtype: str) -> None:
    low, high = kernels.load("log").domain["x"]
    [x] = draw("log", {"x": [1000]}, dtype)[0]
    x = x.astype(np.float64)
    # A bound that the dtype does not hold may be rounded past.
    assert x.min() >= low * (1 - 2.0**-8) and x.max() <= high * (1 + 2.0**-8)


def test_drawn_floats_are_distinct_so_that_a_misplaced_element_shows() -> None:
    [x] = draw("neg", {"x": [1025]}, "float32")[0]
    assert len(np.unique(x)) == x.size


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_special_values_are_there_and_two_inputs_meet_in_every_pair(dtype: str) -> None:
    pool = cases.specials(cases.numpy_dtype(dtype))
    wide = pool.astype(np.float64)
    assert np.isnan(wide).any() and np.isposinf(wide).any() and np.isneginf(wide).any()
    assert {False, True} <= set(np.signbit(wide[wide == 0]).tolist())
    assert len(np.unique(wide)) == len(pool) - 1, "zeros of both signs, and no value twice"
    [case] = cases.special_cases(kernels.load("add"))
    a, b = cases.draw(kernels.load("add"), case, (dtype,), 0)[0]
    pairs = {(x.tobytes(), y.tobytes()) for x, y in zip(a, b, strict=True)}
    assert len(pairs) == len(pool) ** 2


def test_only_elementwise_ops_have_generic_cases() -> None:
    for op in kernels.load_all():
        generic = cases.generic_cases(op)
        assert bool(generic) == op.elementwise
        shapes = {tuple(case[op.inputs[0].name]) for case in generic if case["id"].startswith("shape-")}
        assert not generic or {(), (0,), (1,), (17,), (1023,), (1025,), (2, 3, 4)} <= shapes
