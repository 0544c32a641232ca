"""Ops of one element each: the expression of the op file, at every place of the joined axes."""

from __future__ import annotations

from ..definitions import Op
from . import dialect
from .source import Operand, Program, Request, kernel, linear, load, position, program, store, unravel


def write(op: Op, request: Request) -> Program | None:
    """None if the op has no expression for these dtypes."""
    dtype = request.given[0].dtype
    expression = expression_for(op, dtype)
    if expression is None:
        return None
    return from_expression(op, request, substituted(op, request, expression, dtype))


def from_expression(op: Op, request: Request, expression: str) -> Program:
    outputs = [operand for operand in request.given if operand.name in {o.name for o in op.outputs}]
    inputs = [operand for operand in request.given if operand not in outputs]
    numbers = number_arguments(op, request)
    lines = f"  const {request.index} i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= numel) return;\n"
    lines += unravel(request.index, [f"size{axis}" for axis in range(request.rank)], "i", "i")
    for operand in inputs:
        at = place(request, operand)
        lines += f"  const {dialect.compute(operand.dtype)} {operand.name} = {load(request, operand, at)};\n"
    (output,) = outputs
    lines += "  " + store(output, place(request, output), expression) + "\n"
    text, arguments = kernel(request, "run", {output.name}, numbers, lines)
    return program(request, [text], [linear("run", arguments, "numel")])


def expression_for(op: Op, dtype: str) -> str | None:
    if isinstance(op.expr, str):
        return op.expr
    return op.expr.get(dialect.kind(dtype))


def substituted(op: Op, request: Request, expression: str, dtype: str) -> str:
    """T and U are the type that is computed with and its unsigned counterpart."""
    _, value, unsigned = dialect.TYPES[dtype]
    text = expression.replace("_T(", f"_{value}(")
    words = {"T": value, "U": unsigned}
    text = dialect.re.sub(r"\b[TU]\b", lambda m: words[m[0]], text)
    return dialect.literals(text, dtype)


def place(request: Request, operand: Operand) -> str:
    if operand.dense:
        return f"{operand.name}_offset + i"
    return position(operand.name, [f"{operand.name}_stride{axis}" for axis in range(request.rank)], "i")


def number_arguments(op: Op, request: Request) -> list[tuple[str, str]]:
    """Sizes and strides of the joined axes, then the numbers among the attributes."""
    index = request.index
    numbers = [("numel", index), *((f"size{axis}", index) for axis in range(1, request.rank))]
    for operand in request.given:
        if not operand.dense:
            numbers += [(f"{operand.name}_stride{axis}", index) for axis in range(request.rank)]
    value = dialect.compute(request.given[0].dtype)
    for attribute in op.attributes:
        if attribute.type == "float":
            numbers.append((attribute.name, "double" if value == "double" else "float"))
        elif attribute.type in ("int", "uint64"):
            numbers.append((attribute.name, "long"))
        elif attribute.type == "scalar":
            numbers.append((attribute.name, value if value in ("float", "double") else "long"))
    return numbers
