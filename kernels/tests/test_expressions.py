"""The expressions of the op files say nothing that the runtime does not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import dougong_kernels as kernels
import pytest

RUNTIME = kernels.ROOT.parent / "runtime" / "src"
OPS = kernels.op_names()
CONSTANTS = {"true", "false", "none", "infinity"} | set(kernels.DTYPE_GROUPS["all"])
# Words for tensors that are no ops: runtime/src/views.h and dtype.h.
VIEWS = {"expand", "reshape", "permute", "transpose", "squeeze", "unsqueeze", "slice", "select"}
VIEWS |= {"accumulator", "is_floating"}

pytestmark = pytest.mark.skipif(not RUNTIME.is_dir(), reason="the op files are installed without the runtime's source")


def helpers(header: str) -> set[str]:
    """The functions that a header declares, and those of the headers of words that it includes."""
    text = (RUNTIME / header).read_text(encoding="utf-8")
    own = set(re.findall(r"^(?:inline )?[\w:]+ (\w+)\(", text, re.MULTILINE)) | {"len"}
    return own.union(*map(helpers, re.findall(r'#include "(\w+_(?:rules|words)\.h)"', text)))


def rules(op: kernels.Op) -> Iterator[str]:
    yield from (condition for condition, _ in op.require)
    yield from (output.shape for output in op.outputs if output.shape)


def gradients(op: kernels.Op) -> Iterator[str]:
    yield from op.grad.values() if isinstance(op.grad, dict) else ()


def known_names(op: kernels.Op) -> set[str]:
    names = {item.name for item in [*op.inputs, *op.attributes, *op.outputs]} | CONSTANTS
    return names | {value for attribute in op.attributes for value in attribute.values}


def called(tree: ast.expression) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def used_names(tree: ast.expression) -> set[str]:
    functions = {id(call.func) for call in called(tree)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions}


@pytest.mark.parametrize("name", OPS)
def test_shapes_and_requirements_use_names_of_the_op_and_helpers_of_the_runtime(name: str) -> None:
    op = kernels.load(name)
    for text in rules(op):
        tree = ast.parse(text, mode="eval")
        assert used_names(tree) <= known_names(op), text
        assert {call.func.id for call in called(tree)} <= helpers("shape_rules.h") | helpers("index_words.h"), text


@pytest.mark.parametrize("name", OPS)
def test_gradients_use_names_of_the_op_ops_and_helpers_of_the_runtime(name: str) -> None:
    op = kernels.load(name)
    incoming = {f"d{output.name}" for output in op.outputs}
    for text in gradients(op):
        tree = ast.parse(text, mode="eval")
        enums = {value for call in called(tree) for value in enum_values(call)}
        assert used_names(tree) <= known_names(op) | incoming | enums, text
        functions = {call.func.id for call in called(tree)}
        assert (
            functions <= set(OPS) | helpers("gradients.h") | helpers("shape_rules.h") | helpers("index_words.h") | VIEWS
        ), text


@pytest.mark.parametrize("name", OPS)
def test_gradients_call_ops_with_all_of_their_inputs_and_attributes(name: str) -> None:
    for text in gradients(kernels.load(name)):
        for call in called(ast.parse(text, mode="eval")):
            if call.func.id in OPS:
                callee = kernels.load(call.func.id)
                wanted = len(callee.inputs) + len(callee.attributes)
                assert len(call.args) == wanted, f"{ast.unparse(call)}: {callee.name} takes {wanted}"


@pytest.mark.parametrize("name", [name for name in OPS if isinstance(kernels.load(name).decompose or None, dict)])
def test_decompositions_use_what_is_known_before_and_give_every_output(name: str) -> None:
    op = kernels.load(name)
    known = known_names(op) - {output.name for output in op.outputs} | {"device"}
    known |= {item.name for item in [*op.inputs, *op.attributes]}
    words = set(OPS) | helpers("gradients.h") | helpers("shape_rules.h") | helpers("decompositions.h") | VIEWS
    words |= helpers("index_words.h")
    for value, text in op.decompose.items():
        tree = ast.parse(text, mode="eval")
        enums = {value for call in called(tree) for value in enum_values(call)}
        assert used_names(tree) <= known | enums, text
        assert {call.func.id for call in called(tree)} <= words, text
        assert name not in {call.func.id for call in called(tree)}, "an op is not made of itself"
        known.add(value)
    assert {output.name for output in op.outputs} <= known


def test_no_decomposition_leads_back_to_its_op() -> None:
    parts = {
        name: {c.func.id for text in op.decompose.values() for c in called(ast.parse(text, mode="eval"))} & set(OPS)
        for name in OPS
        if isinstance((op := kernels.load(name)).decompose, dict)
    }
    ready = set(OPS) - set(parts)
    while grown := {name for name, needed in parts.items() if name not in ready and needed <= ready}:
        ready |= grown
    assert ready == set(OPS), f"these wait for each other: {sorted(set(OPS) - ready)}"


def enum_values(call: ast.Call) -> set[str]:
    callee = kernels.load(call.func.id) if call.func.id in OPS else None
    return {value for attribute in callee.attributes for value in attribute.values} if callee else set()


@pytest.mark.parametrize("name", OPS)
def test_outputs_types_and_domains_are_about_things_that_the_op_has(name: str) -> None:
    op = kernels.load(name)
    variables, inputs = {t.name for t in op.types}, {i.name for i in op.inputs}
    outputs = {o.name for o in op.outputs}
    assert set(op.returns) <= outputs and op.returns
    assert {o.alias for o in op.outputs if o.alias} <= inputs
    assert set(op.domain) <= inputs
    for item in [*(i.type for i in op.inputs), *(o.dtype for o in op.outputs)]:
        bare = item.removeprefix("accumulator(").removesuffix(")")
        assert bare in variables | set(kernels.DTYPE_GROUPS["all"]), item
    assert {a.variable for a in op.attributes if a.variable} <= variables
    assert {a.of for a in op.attributes if a.of} <= inputs


@pytest.mark.parametrize("name", OPS)
def test_dtypes_of_a_type_variable_are_known_and_each_once(name: str) -> None:
    for variable in kernels.load(name).types:
        assert set(variable.dtypes) <= set(kernels.DTYPE_GROUPS["all"])
        assert len(set(variable.dtypes)) == len(variable.dtypes)
        assert variable.integers is None or variable.integers in variable.dtypes
