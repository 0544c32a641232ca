"""Each op is one valid file, with an oracle beside it, and its cases say what is right."""

from __future__ import annotations

import itertools
from typing import Any

import dougong_kernels as kernels
import jsonschema
import numpy as np
import pytest
import yaml
from dougong_kernels import cases

OPS = kernels.op_names()


def choices(op: kernels.Op, case: dict[str, Any]) -> list[tuple[str, ...]]:
    """The dtypes that a case is about, one tuple a choice."""
    only = case.get("dtypes")
    allowed = []
    for variable in op.types:
        names = only.get(variable.name) if isinstance(only, dict) else None if variable.index else only
        wanted = None if names is None else kernels.expand_dtypes(names)
        allowed.append([dtype for dtype in variable.dtypes if wanted is None or dtype in wanted])
    return list(itertools.product(*allowed))


def run_oracle(op: kernels.Op, case: dict[str, Any], dtypes: tuple[str, ...]) -> list[np.ndarray | None]:
    inputs, attributes = cases.draw(op, case, dtypes, seed=1)
    wide = [x if x is None or x.dtype.kind in "iub" else x.astype(np.float64) for x in inputs]
    with np.errstate(all="ignore"):
        results = getattr(kernels.oracle(op.name), op.name)(*wide, **attributes)
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("name", OPS)
def test_file_is_valid_and_named_after_its_op(name: str) -> None:
    raw = yaml.safe_load((kernels.ROOT / "ops" / f"{name}.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(raw, kernels.schema())
    assert kernels.load(name).name == name


@pytest.mark.parametrize("name", OPS)
def test_op_has_an_oracle_and_a_sum_has_a_magnitude(name: str) -> None:
    op, oracle = kernels.load(name), kernels.oracle(name)
    assert callable(getattr(oracle, name))
    assert op.tolerance["class"] != "R" or callable(oracle.magnitude)


@pytest.mark.parametrize("name", OPS)
def test_cases_name_inputs_and_attributes_of_the_op_and_each_id_once(name: str) -> None:
    op = kernels.load(name)
    known = {"id", "dtypes", "expect", "raises", "rules", "differentiable"}
    known |= {item.name for item in op.inputs} | {attribute.name for attribute in op.attributes}
    ids = [case["id"] for case in [*op.cases, *cases.generic_cases(op)]]
    assert len(ids) == len(set(ids)) and ids, "every op has cases"
    for case in op.cases:
        assert set(case) <= known, f"{case['id']}: {set(case) - known}"
        assert choices(op, case), f"{case['id']} is about no dtype that the op has"


@pytest.mark.parametrize("name", OPS)
def test_oracle_answers_every_case_in_the_shape_of_its_outputs(name: str) -> None:
    op = kernels.load(name)
    for case in [*op.cases, *cases.generic_cases(op)]:
        for dtypes in choices(op, case):
            if "raises" in case:
                with pytest.raises(IndexError):
                    run_oracle(op, case, dtypes)
            else:
                assert len(run_oracle(op, case, dtypes)) == len(op.outputs)


def assert_same(op: kernels.Op, result: np.ndarray, expected: np.ndarray) -> None:
    """Integers are equal; floats too, but for what an expected value loses when it is written in decimal."""
    if np.asarray(result).dtype.kind in "iub":
        np.testing.assert_array_equal(result, expected)
        return
    result, expected = np.asarray(result, np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=0)
    signed = op.tolerance["class"] == "E" and not op.tolerance.get("either_zero", False)
    zeros = (expected == 0) & (signed | np.signbit(expected))
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]), "the sign of a zero")


EXPECTED = [(name, case["id"]) for name in OPS for case in kernels.load(name).cases if "expect" in case]


@pytest.mark.parametrize(("name", "case_id"), EXPECTED)
def test_oracle_gives_the_right_value_where_the_case_states_it(name: str, case_id: str) -> None:
    op = kernels.load(name)
    case = next(case for case in op.cases if case["id"] == case_id)
    names = [output.name for output in op.outputs]
    for dtypes in choices(op, case):
        results = run_oracle(op, case, dtypes)
        for output, expected in case["expect"].items():
            assert_same(op, results[names.index(output)], np.asarray(expected))


@pytest.mark.parametrize("name", OPS)
def test_gradients_are_for_inputs_and_the_same_seed_draws_the_same_values(name: str) -> None:
    op = kernels.load(name)
    inputs = {item.name for item in op.inputs}
    targets = {part.strip() for key in op.grad for part in key.split(",")} if isinstance(op.grad, dict) else set()
    assert targets <= inputs
    case = [*op.cases, *cases.generic_cases(op)][0]
    first, second = (cases.draw(op, case, choices(op, case)[0], seed=3)[0] for _ in range(2))
    assert all(
        a is b is None or np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )
