"""Ops that move elements: copies, casts, joins, padding, indices, sorting, and tensors from numbers."""

from __future__ import annotations

from ..definitions import Op
from . import dialect, elementwise
from .source import (
    GROUP,
    Operand,
    Pass,
    Program,
    Request,
    kernel,
    linear,
    load,
    position,
    program,
    store,
    unravel,
)


def sizes(operand: Operand) -> list[str]:
    return [f"{operand.name}_size{axis}" for axis in range(operand.ndim)]


def strides(operand: Operand) -> list[str]:
    return [f"{operand.name}_stride{axis}" for axis in range(operand.ndim)]


def shape_numbers(request: Request, *operands: Operand) -> list[tuple[str, str]]:
    """Sizes and strides of operands as arguments."""
    return [(name, request.index) for o in operands for name in [*sizes(o), *strides(o)]]


def begin(request: Request, count: str = "numel") -> str:
    """The number of this item; those past the end leave."""
    return f"  const {request.index} i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= {count}) return;\n"


def bits(operand: Operand, at: str) -> str:
    """An element as it lies in memory: NaN payloads pass, a bool becomes 0 or 1."""
    return load_bool(operand, at) if operand.dtype == "bool" else f"{operand.name}_p[{at}]"


def load_bool(operand: Operand, at: str) -> str:
    return f"({operand.name}_p[{at}] != 0)"


def put(operand: Operand, at: str, value: str) -> str:
    return f"{operand.name}_p[{at}] = {value};"


# ---- elementwise moves ----------------------------------------------------------------------------------------------


def _elementwise_move(op: Op, request: Request, value: str) -> Program:
    """`value` is the bits to write, of C text with {operand} for each input's bits."""
    output = request.operand(op.outputs[0].name)
    inputs = {o.name: bits(o, elementwise.place(request, o)) for o in request.given if o.name != output.name}
    body = begin(request) + unravel(request.index, [f"size{axis}" for axis in range(request.rank)], "i", "i")
    body += "  " + put(output, elementwise.place(request, output), value.format(**inputs)) + "\n"
    text, arguments = kernel(request, "run", {output.name}, elementwise.number_arguments(op, request), body)
    return program(request, [text], [linear("run", arguments, "numel")])


def copy(op: Op, request: Request) -> Program:
    return _elementwise_move(op, request, "{x}")


def where(op: Op, request: Request) -> Program:
    return _elementwise_move(op, request, "{condition} ? {x} : {y}")


def cast(op: Op, request: Request) -> Program:
    x, y = request.operand("x"), request.operand("y")
    if x.dtype == y.dtype:
        return copy(op, request)
    value = converted(x.dtype, y.dtype, load(request, x, elementwise.place(request, x)))
    body = begin(request) + unravel(request.index, [f"size{axis}" for axis in range(request.rank)], "i", "i")
    body += "  " + store(y, elementwise.place(request, y), value) + "\n"
    text, arguments = kernel(request, "run", {"y"}, elementwise.number_arguments(op, request), body)
    return program(request, [text], [linear("run", arguments, "numel")])


def converted(source: str, target: str, value: str) -> str:
    """A value of one dtype as one of another: truncated and saturated from float to integer."""
    if dialect.kind(source) == "float" and target in dialect.LIMITS:
        width = dialect.LIMITS[target]
        low = "0" if target == "uint8" else f"(-0x{2 ** width - 1:x}L - 1)"
        return f"to_integer_{dialect.compute(source)}({value}, {low}, 0x{2 ** width - 1:x}L)"
    return f"({dialect.compute(target)})({value})" if target != "bool" else f"{value} != 0"


# ---- tensors from numbers -------------------------------------------------------------------------------------------


def scalar_type(dtype: str) -> str:
    """How a number of an attribute comes."""
    return "long" if dialect.kind(dtype) != "float" else dialect.compute(dtype)


def full(op: Op, request: Request) -> Program:
    (y,) = request.given
    number = scalar_type(y.dtype)
    body = begin(request) + place_of(request, y) + "  " + store(y, "at", "value") + "\n"
    numbers = [("numel", request.index), *shape_numbers(request, y), ("value", number)]
    text, arguments = kernel(request, "run", {"y"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def arange(op: Op, request: Request) -> Program | None:
    (y,) = request.given
    whole = dialect.kind(y.dtype) == "int"
    if not whole and not request.doubles:
        return None
    number = "long" if whole else "double"
    value = "start + step * i" if whole else "start + step * (double)i"
    if not whole and dialect.compute(y.dtype) == "float":
        value = f"(float)({value})"
    body = begin(request) + "  " + store(y, f"y_offset + i * y_stride0", value) + "\n"
    numbers = [("numel", request.index), ("y_stride0", request.index), ("start", number), ("step", number)]
    text, arguments = kernel(request, "run", {"y"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def place_of(request: Request, operand: Operand) -> str:
    """`at`: the place of element i of the operand."""
    if operand.dense:
        return f"  const {request.index} at = {operand.name}_offset + i;\n"
    text = unravel(request.index, sizes(operand), "i", "d")
    return text + f"  const {request.index} at = {position(operand.name, strides(operand), 'd')};\n"


# ---- joins and padding ----------------------------------------------------------------------------------------------


def cat(op: Op, request: Request) -> Program:
    """A pass an input, which goes behind those before it."""
    y, axis = request.operand("y"), request.attributes["axis"]
    functions, passes = [], []
    inputs = [o for o in request.given if o.name != "y"]
    for number, x in enumerate(inputs):
        before = [f"{o.name}_size{axis}" for o in inputs[:number]]
        body = begin(request, " * ".join(sizes(x)) or "1") + unravel(request.index, sizes(x), "i", "d")
        source = position(x.name, strides(x), "d")
        shifted = position("y", strides(y), "d") + "".join(f" + {b} * y_stride{axis}" for b in before)
        body += "  " + put(y, shifted, bits(x, source)) + "\n"
        numbers = shape_numbers(request, x) + [(name, request.index) for name in [*strides(y), *before]]
        text, arguments = kernel(request, f"run{number}", {"y"}, numbers, body)
        functions.append(text)
        passes.append(linear(f"run{number}", arguments, *sizes(x)))
    return program(request, functions, passes)


def pad(op: Op, request: Request) -> Program:
    x, y = request.operand("x"), request.operand("y")
    body = begin(request) + unravel(request.index, sizes(y), "i", "d")
    inside = []
    for axis in range(x.ndim):
        body += f"  const {request.index} e{axis} = d{axis} - ({request.index})padding{2 * axis};\n"
        inside.append(f"e{axis} >= 0 && e{axis} < x_size{axis}")
    target = position("y", strides(y), "d")
    body += f"  if ({' && '.join(inside) or '1'}) {put(y, target, bits(x, position('x', strides(x), 'e')))}\n"
    body += f"  else {store(y, target, 'value')}\n"
    numbers = [("numel", request.index), *shape_numbers(request, x, y)]
    numbers += [(f"padding{2 * axis}", "long") for axis in range(x.ndim)] + [("value", scalar_type(x.dtype))]
    text, arguments = kernel(request, "run", {"y"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


# ---- indices --------------------------------------------------------------------------------------------------------


def _index_check(request: Request, index: Operand, limit: str) -> tuple[str, Pass]:
    """A pass that sets `flag` if an index is outside -limit to limit - 1."""
    body = begin(request, " * ".join(sizes(index)) or "1") + unravel(request.index, sizes(index), "i", "d")
    body += f"  const long k = index_p[{position('index', strides(index), 'd')}];\n"
    body += f"  if (k < -(long){limit} || k >= (long){limit}) flag_p[0] = 1;\n"
    text = [f"GLOBAL int *flag_p, GLOBAL const {dialect.storage(index.dtype)} *index_p, {request.index} index_offset"]
    arguments = [("flag", "flag"), ("index", "buffer"), ("index_offset", request.index)]
    for name in dict.fromkeys([*sizes(index), *strides(index), limit]):
        text.append(f"{request.index} {name}")
        arguments.append((name, request.index))
    return f"KERNEL void check({', '.join(text)}) {{\n{body}}}\n", linear("check", arguments, *sizes(index))


def gather(op: Op, request: Request) -> Program:
    x, index, y = (request.operand(name) for name in ("x", "index", "y"))
    axis = request.attributes["axis"]
    limit = f"x_size{axis}" if x.ndim else "1"
    check, check_pass = _index_check(request, index, limit) if x.ndim else ("", None)
    body = begin(request) + unravel(request.index, sizes(y), "i", "d")
    target = position("y", strides(y), "d")
    if x.ndim:
        body += f"  {request.index} k = index_p[{position('index', strides(index), 'd')}];\n"
        body += f"  if (k < 0) k += x_size{axis};\n"
    places = [f"{'k' if a == axis else f'd{a}'} * x_stride{a}" for a in range(x.ndim)]
    body += "  " + put(y, target, bits(x, " + ".join(["x_offset", *places]))) + "\n"
    text, arguments = kernel(request, "run", {"y"}, [("numel", request.index), *shape_numbers(request, x, index, y)], body)
    main = linear("run", arguments, "numel")
    return program(request, [check, text], [main] if check_pass is None else [check_pass, main])


def scatter(op: Op, request: Request) -> Program | None:
    """A copy, then one item for each line along the axis: what meets in one place is added in order."""
    x, index, source, y = (request.operand(name) for name in ("x", "index", "source", "y"))
    axis, reduce = request.attributes["axis"], request.attributes["reduce"]
    if x.ndim == 0 or reduce not in ("set", "add"):
        return None
    check, check_pass = _index_check(request, index, f"x_size{axis}")
    copied = begin(request) + unravel(request.index, sizes(y), "i", "d")
    copied += "  " + put(y, position("y", strides(y), "d"), bits(x, position("x", strides(x), "d"))) + "\n"
    numbers = shape_numbers(request, x, index, source, y)
    first, first_arguments = kernel(request, "run0", {"y"}, [("numel", request.index), *numbers], copied)
    others = [a for a in range(x.ndim) if a != axis]
    lines = [f"index_size{a}" for a in others]
    body = begin(request, " * ".join(lines) or "1") + unravel(request.index, lines, "i", "e")
    for number, a in enumerate(others):
        body += f"  const {request.index} d{a} = e{number};\n"
    body += f"  for ({request.index} d{axis} = 0; d{axis} < index_size{axis}; ++d{axis}) {{\n"
    body += f"    {request.index} k = index_p[{position('index', strides(index), 'd')}];\n"
    body += f"    if (k < 0) k += x_size{axis};\n"
    target = " + ".join(["y_offset", *(f"{'k' if a == axis else f'd{a}'} * y_stride{a}" for a in range(x.ndim))])
    place = position("source", strides(source), "d")
    if reduce == "set":
        body += "    " + put(y, target, bits(source, place)) + "\n  }\n"
    elif x.dtype in dialect.HALVES:
        return None  # sums of many terms want a wider place than the output has
    else:
        both = f"{load(request, y, target)}, {load(request, source, place)}"
        left, right = both.split(", ", 1)
        total = f"{left} || {right}" if x.dtype == "bool" else f"{left} + {right}"
        body += "    " + store(y, target, total) + "\n  }\n"
    second, second_arguments = kernel(request, "run1", {"y"}, numbers, body)
    passes = [check_pass, linear("run0", first_arguments, "numel"), linear("run1", second_arguments, *lines)]
    return program(request, [check, first, second], passes)


def sort(op: Op, request: Request) -> Program:
    """Each element counts how many come before it: stable, and no item waits for another."""
    x, values, indices = (request.operand(name) for name in ("x", "values", "indices"))
    axis, descending = request.attributes["axis"], request.attributes["descending"]
    body = begin(request) + unravel(request.index, sizes(x), "i", "d")
    if x.ndim == 0:
        body += "  " + put(values, "values_offset", bits(x, "x_offset")) + "\n  indices_p[indices_offset] = 0;\n"
    else:
        value = dialect.compute(x.dtype)
        line = " + ".join(["x_offset", *(f"d{a} * x_stride{a}" for a in range(x.ndim) if a != axis)])
        body += f"  const {request.index} line = {line};\n  const {value} own = {load(request, x, f'line + d{axis} * x_stride{axis}')};\n"
        body += f"  {request.index} rank = 0;\n  for ({request.index} k = 0; k < x_size{axis}; ++k) {{\n"
        body += f"    const {value} other = {load(request, x, f'line + k * x_stride{axis}')};\n"
        before = "other > own || (other != other && own == own)" if descending else "other < own || (own != own && other == other)"
        equal = "other == own || (other != other && own != own)"
        body += f"    if ({before} || (k < d{axis} && ({equal}))) ++rank;\n  }}\n"
        for output, what in ((values, bits(x, f"line + d{axis} * x_stride{axis}")), (indices, f"d{axis}")):
            places = [f"{'rank' if a == axis else f'd{a}'} * {output.name}_stride{a}" for a in range(x.ndim)]
            body += "  " + put(output, " + ".join([f"{output.name}_offset", *places]), what) + "\n"
    numbers = [("numel", request.index), *shape_numbers(request, x, values, indices)]
    text, arguments = kernel(request, "run", {"values", "indices"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


WRITERS = {
    "copy": copy,
    "where": where,
    "cast": cast,
    "full": full,
    "arange": arange,
    "cat": cat,
    "pad": pad,
    "gather": gather,
    "scatter": scatter,
    "sort": sort,
}
