"""What the judge relies on in an oracle, beside its values: signature, precision, dtypes, magnitudes."""

from __future__ import annotations

import inspect
from typing import Any

import dougong_kernels as kernels
import numpy as np
import pytest
from dougong_kernels import cases
from test_op_files import choices

OPS = kernels.op_names()
SUMS = [name for name in OPS if kernels.load(name).tolerance["class"] == "R"]
CONV2D = kernels.load("conv2d")
FLOAT_OPS = [
    name
    for name in OPS
    if kernels.load(name).inputs and name != "cast" and any("float64" in t.dtypes for t in kernels.load(name).types)
]


def all_cases(op: kernels.Op) -> list[dict[str, Any]]:
    return [case for case in [*op.cases, *cases.generic_cases(op)] if "raises" not in case]


def float_inputs(op: kernels.Op, case: dict[str, Any], precision: str) -> tuple[list, dict[str, Any]] | None:
    """The case with its floats in one precision; None if it is not about floats of that precision."""
    found = [choice for choice in choices(op, case) if choice and choice[0] == precision]
    if not found:
        return None
    inputs, attributes = cases.draw(op, case, found[0], seed=2)
    return [x if x is None or x.dtype.kind != "f" else x.astype(precision) for x in inputs], attributes


def run(op: kernels.Op, inputs: list, attributes: dict[str, Any]) -> list[np.ndarray | None]:
    with np.errstate(all="ignore"):
        results = getattr(kernels.oracle(op.name), op.name)(*inputs, **attributes)
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("name", OPS)
def test_inputs_are_positional_and_attributes_are_keywords_by_name(name: str) -> None:
    op, function = kernels.load(name), getattr(kernels.oracle(name), name)
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] == [a.name for a in op.attributes]
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert len(positional) == len(op.inputs)
    assert all((p.kind is p.VAR_POSITIONAL) == i.variadic for p, i in zip(positional, op.inputs, strict=True))


@pytest.mark.parametrize("name", FLOAT_OPS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_oracle_computes_in_the_precision_of_its_inputs(name: str, precision: str) -> None:
    op = kernels.load(name)
    drawn = [(case["id"], float_inputs(op, case, precision)) for case in all_cases(op)]
    asked = [(case_id, question) for case_id, question in drawn if question is not None]
    assert asked
    for case_id, (inputs, attributes) in asked:
        for output, result in zip(op.outputs, run(op, inputs, attributes), strict=True):
            if result is not None and output.dtype not in ("bool", "int64"):
                assert np.asarray(result).dtype == precision, f"{case_id}: {output.name}"


@pytest.mark.parametrize("name", OPS)
def test_integers_and_bools_come_out_in_their_declared_dtype(name: str) -> None:
    op = kernels.load(name)
    for case in all_cases(op):
        for dtypes in choices(op, case):
            bound = dict(zip((t.name for t in op.types), dtypes, strict=True))
            inputs, attributes = cases.draw(op, case, dtypes, seed=2)
            wide = [x if x is None or x.dtype.kind in "iub" else x.astype(np.float64) for x in inputs]
            for output, result in zip(op.outputs, run(op, wide, attributes), strict=True):
                declared = bound.get(output.dtype, output.dtype)
                if declared == "bool" or "int" in declared:
                    assert np.asarray(result).dtype == declared, f"{case['id']} of {dtypes}: {output.name}"


@pytest.mark.parametrize("name", [n for n in OPS if kernels.load(n).elementwise])
def test_elementwise_results_have_the_shape_that_the_inputs_broadcast_to(name: str) -> None:
    op = kernels.load(name)
    for case in all_cases(op):
        inputs, attributes = cases.draw(op, case, choices(op, case)[0], seed=2)
        shape = np.broadcast_shapes(*(x.shape for x in inputs if x is not None))
        assert all(np.shape(r) == shape for r in run(op, inputs, attributes)), case["id"]


@pytest.mark.parametrize("name", SUMS)
def test_no_sum_is_greater_than_its_magnitude(name: str) -> None:
    """s = sum |ab| bounds |sum ab| and has its shape; the number of terms is one number, or one an element."""
    op = kernels.load(name)
    for case in all_cases(op):
        drawn = float_inputs(op, case, "float64")
        if drawn is None:
            continue
        inputs, attributes = drawn
        [result] = run(op, inputs, attributes)
        with np.errstate(all="ignore"):
            s, k = kernels.oracle(name).magnitude(*inputs, **attributes)
        assert np.shape(s) == np.shape(result), case["id"]
        assert np.all(np.asarray(k) >= 0) and np.broadcast_shapes(np.shape(k), np.shape(s)) == np.shape(s)
        finite = np.isfinite(result) & np.isfinite(s)
        assert np.all(np.abs(result)[finite] <= s[finite] * (1 + 1e-12)), case["id"]


CONVOLUTIONS = [case for case in CONV2D.cases if ("float64",) in choices(CONV2D, case)]


def convolution_by_its_definition(x, weight, stride, padding, dilation, groups, shape) -> np.ndarray:
    """y[n, o, i, j] = the sum of weight[o, c, u, v] times x at i * stride + u * dilation - padding, 0 outside."""
    y, (out_channels, channels, *_) = np.zeros(shape), weight.shape
    for o, c, u, v in np.ndindex(weight.shape):
        source = o // (out_channels // groups) * channels + c
        for i, j in np.ndindex(shape[2:]):
            row = i * stride[0] + u * dilation[0] - padding[0]
            column = j * stride[1] + v * dilation[1] - padding[1]
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                y[:, o, i, j] += weight[o, c, u, v] * x[:, source, row, column]
    return y


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: case["id"])
def test_convolution_is_its_definition_and_its_gradients_are_its_adjoints(case: dict[str, Any]) -> None:
    (x, weight, _), attributes = float_inputs(CONV2D, case, "float64")
    [y] = run(CONV2D, [x, weight, None], attributes)
    np.testing.assert_allclose(y, convolution_by_its_definition(x, weight, shape=y.shape, **attributes), atol=1e-12)
    dy = np.random.default_rng(0).normal(size=y.shape)
    [dx] = run(kernels.load("conv2d_backward_input"), [dy, weight], {"shape": list(x.shape), **attributes})
    [dw] = run(kernels.load("conv2d_backward_weight"), [dy, x], {"shape": list(weight.shape), **attributes})
    # <dy, conv(x, w)> is linear in x and in w, so it equals <dx, x> and <dw, w>.
    np.testing.assert_allclose([np.sum(dx * x), np.sum(dw * weight)], np.sum(dy * y), atol=1e-10)
    assert (dx.shape, dw.shape) == (x.shape, weight.shape)


# An average has the magnitude of one term, whatever their number.
def is_average(name: str) -> bool:
    return name == "mean" or name.startswith("interpolate") or "avg_pool" in name


@pytest.mark.parametrize("name", [n for n in SUMS if not is_average(n)])
def test_number_of_terms_is_what_ones_add_up_to(name: str) -> None:
    """Nowhere less; and in some case it is reached: where no padding takes terms away."""
    op, reached = kernels.load(name), False
    for case in all_cases(op):
        drawn = float_inputs(op, case, "float64")
        if drawn is None:
            continue
        ones = [x if x is None or x.dtype.kind != "f" else np.ones_like(x) for x in drawn[0]]
        s, k = kernels.oracle(name).magnitude(*ones, **drawn[1])
        assert np.all(s <= k), case["id"]
        reached = reached or (np.size(s) > 1 and np.all(np.maximum(s, 1) == k) and np.max(k) > 1)
    assert reached


@pytest.mark.parametrize("name", [n for n in OPS if any(o.alias for o in kernels.load(n).outputs)])
def test_optimisers_leave_their_inputs_as_they_are_and_give_none_for_what_is_left_out(name: str) -> None:
    op = kernels.load(name)
    for case in op.cases:
        drawn = float_inputs(op, case, "float64")
        assert drawn is not None
        before = [None if x is None else x.copy() for x in drawn[0]]
        results = run(op, *drawn)
        assert all(a is b is None or np.array_equal(a, b) for a, b in zip(before, drawn[0], strict=True))
        given = dict(zip((i.name for i in op.inputs), before, strict=True))
        for output, result in zip(op.outputs, results, strict=True):
            assert (result is None) == (given[output.alias] is None), f"{case['id']}: {output.name}"
