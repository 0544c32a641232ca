"""For people and type checkers: docs/ops.md and the stubs of the ops."""

from __future__ import annotations

from definitions import Attribute, Input, Op

PYTHON_TYPES = {
    "int": "int",
    "uint64": "int",
    "float": "float",
    "bool": "bool",
    "scalar": "float",
    "dtype": "dtype",
    "axis": "int",
    "axes": "int | Sequence[int] | None",
    "ints": "int | Sequence[int]",
    "enum": "str",
}


def stubs(ops: list[Op], note: str) -> str:
    """The signatures of dougong.ops, as a .pyi file."""
    functions = "".join(stub(op) for op in ops)
    return f'''# {note}
"""The ops as functions: inputs, then attributes, then `out`. Ops without inputs take `device`."""

from collections.abc import Sequence

from . import Device, Tensor, dtype

{functions}'''


def stub(op: Op) -> str:
    parameters = [stub_input(item) for item in op.inputs] + [stub_attribute(a) for a in op.attributes]
    keywords = ["out: Tensor | tuple[Tensor, ...] | None = None"]
    if not op.inputs:
        keywords.append("device: Device | str | None = None")
    results = "Tensor" if len(op.returns) == 1 else f"tuple[{', '.join(['Tensor'] * len(op.returns))}]"
    return declaration(op.name, [*ordered(parameters), "*", *keywords], results)


def declaration(name: str, parameters: list[str], results: str) -> str:
    """One line, or the lines that a formatter makes of a long one."""
    line = f"def {name}({', '.join(parameters)}) -> {results}: ...\n"
    if len(line) <= 121:
        return line
    inner = f"    {', '.join(parameters)}\n"
    if len(inner) <= 121:
        return f"def {name}(\n{inner}) -> {results}: ...\n"
    return f"def {name}(\n" + "".join(f"    {p},\n" for p in parameters) + f") -> {results}: ...\n"


def ordered(parameters: list[str]) -> list[str]:
    """Python wants no parameter without a default behind one with: the later ones are then keywords in practice."""
    seen_default, result = False, []
    for parameter in parameters:
        seen_default |= " = " in parameter
        result.append(parameter if " = " in parameter or not seen_default else parameter + " = ...")
    return result


def stub_input(item: Input) -> str:
    if item.variadic:
        return f"{item.name}: Sequence[Tensor]"
    return f"{item.name}: Tensor | None = None" if item.optional else f"{item.name}: Tensor | float"


def stub_attribute(a: Attribute) -> str:
    text = f"{a.name}: {PYTHON_TYPES[a.type]}"
    if a.required:
        return text
    default = f'"{a.default}"' if isinstance(a.default, str) else repr(a.default)
    return f"{text} = {default}" if a.default is not None or "None" in text else f"{text} | None = None"


def docs(ops: list[Op], note: str, signature: object) -> str:
    """One section a family, one paragraph an op."""
    families = list(dict.fromkeys(op.family for op in ops))
    head = f"""<!-- {note} -->
# The ops

{len(ops)} ops. `T`, `U`, `I` are type variables: inputs that share one are promoted to one dtype, and a kernel's
`types` list follows their order. `?` marks an optional input, `...` any number of them, `= name` an output that is the
memory of an input. The meanings that several ops share, such as NaN, rounding and indices, are the OPS rules of
device_api/SPEC.md.
"""
    return head + "".join(family_section(name, [op for op in ops if op.family == name], signature) for name in families)


def family_section(family: str, ops: list[Op], signature: object) -> str:
    return f"\n## {family}\n" + "".join(op_section(op, signature(op)) for op in ops)  # type: ignore[operator]


def op_section(op: Op, signature: str) -> str:
    lines = [f"\n### {op.name}\n", op.summary, f"\n`{signature}`\n"]
    for variable in op.types:
        note = f"; integers and bool become {variable.integers}" if variable.integers else ""
        lines.append(f"- `{variable.name}`: {', '.join(variable.dtypes)}{note}")
    defaults = [f"`{a.name}` = {a.default}" for a in op.attributes if not a.required]
    if defaults:
        lines.append(f"- defaults: {', '.join(defaults)}")
    lines += [f"- wanted: {message}" for _, message in op.require]
    if op.decompose:
        lines.append(f"- composite: {decomposition_text(op)}")
    lines.append(f"- gradient: {gradient_text(op)}; tolerance class {op.tolerance['class']}; since {op.since}")
    return "\n".join(lines) + "\n"


def decomposition_text(op: Op) -> str:
    if op.decompose == "custom":
        return "see runtime/src/decompositions.cc"
    return "; ".join(f"{name} = `{text}`" for name, text in op.decompose.items())  # type: ignore[union-attr]


def gradient_text(op: Op) -> str:
    if op.grad == "custom":
        return "yes"
    if not op.grad and op.differentiable:
        return "of what it is made of"
    return "; ".join(f"d{name} = `{text}`" for name, text in op.grad.items()) if op.grad else "none"  # type: ignore[union-attr]
