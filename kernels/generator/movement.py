"""Ops that move elements: copies, casts, joins, padding, indices, sorting, and tensors from numbers."""

from __future__ import annotations

from ..definitions import Op
from . import dialect, elementwise
from .source import (
    Operand,
    Pass,
    Program,
    Request,
    fill,
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
        low = "0" if target == "uint8" else f"(-0x{2**width - 1:x}L - 1)"
        return f"to_integer_{dialect.compute(source)}({value}, {low}, 0x{2**width - 1:x}L)"
    if source == "float64" and target in dialect.HALVES:
        return f"narrow({value})"
    if source in ("int32", "int64") and target in dialect.HALVES:
        return f"narrow_integer({value})"
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
    body = begin(request) + "  " + store(y, "y_offset + i * y_stride0", value) + "\n"
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
    body += f"  if (k < -(long){limit} || k >= (long){limit}) flag_p[flag_offset] = 1;\n"
    text = ["GLOBAL int *flag_p, long flag_offset"]
    text.append(f"GLOBAL const {dialect.storage(index.dtype)} *index_p, {request.index} index_offset")
    arguments = [("flag", "flag"), ("flag_offset", "flag_offset"), ("index", "buffer"), ("index_offset", request.index)]
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
    text, arguments = kernel(
        request, "run", {"y"}, [("numel", request.index), *shape_numbers(request, x, index, y)], body
    )
    main = linear("run", arguments, "numel")
    return program(request, [check, text], [main] if check_pass is None else [check_pass, main])


SCATTER = """
  for ($index d$axis = 0; d$axis < index_size$axis; ++d$axis) {
    $index k = index_p[$place];
    if (k < 0) k += x_size$axis;
    $store
  }
"""

# Each element looks for itself among the indices of its line, and adds in a place that is wide enough.
SCATTER_ADD = """
  $value sum = $x;
  for ($index k = 0; $inside && k < index_size$axis; ++k) {
    $index to = index_p[$place];
    if (to < 0) to += x_size$axis;
    if (to == d$axis) sum = sum $plus $source;
  }
  $store
"""


def scatter(op: Op, request: Request) -> Program | None:
    x, axis, reduce = request.operand("x"), request.attributes["axis"], request.attributes["reduce"]
    if reduce not in ("set", "add"):
        return None
    if x.ndim == 0:
        return _scatter_number(request, reduce)
    check, check_pass = _index_check(request, request.operand("index"), f"x_size{axis}")
    functions, passes = (_scatter_set if reduce == "set" else _scatter_add)(request, axis)
    return program(request, [check, *functions], [check_pass, *passes])


def _scatter_number(request: Request, reduce: str) -> Program:
    """Without axes there is one place."""
    x, source, y = (request.operand(name) for name in ("x", "source", "y"))
    read = [load(request, operand, f"{operand.name}_offset") for operand in (x, source)]
    total = (" || " if x.dtype == "bool" else " + ").join(read)
    write = store(y, "y_offset", total) if reduce == "add" else put(y, "y_offset", bits(source, "source_offset"))
    text, arguments = kernel(request, "run", {"y"}, [("numel", request.index)], f"{begin(request)}  {write}\n")
    return program(request, [text], [linear("run", arguments, "numel")])


def _along(operand: Operand, axis: int, name: str) -> str:
    """The place of the element with the coordinates d, but `name` on that axis."""
    terms = (f"{name if a == axis else f'd{a}'} * {operand.name}_stride{a}" for a in range(operand.ndim))
    return " + ".join([f"{operand.name}_offset", *terms])


def _scatter_set(request: Request, axis: int) -> tuple[list[str], list[Pass]]:
    """A copy, then one item for each line along the axis: the last one of several stays."""
    x, index, source, y = (request.operand(name) for name in ("x", "index", "source", "y"))
    numbers = shape_numbers(request, x, index, source, y)
    copied = begin(request) + unravel(request.index, sizes(y), "i", "d")
    copied += "  " + put(y, position("y", strides(y), "d"), bits(x, position("x", strides(x), "d"))) + "\n"
    first, first_arguments = kernel(request, "run0", {"y"}, [("numel", request.index), *numbers], copied)
    others = [a for a in range(x.ndim) if a != axis]
    lines = [f"index_size{a}" for a in others]
    body = begin(request, " * ".join(lines) or "1") + unravel(request.index, lines, "i", "e")
    body += "".join(f"  const {request.index} d{a} = e{number};\n" for number, a in enumerate(others))
    written = put(y, _along(y, axis, "k"), bits(source, position("source", strides(source), "d")))
    place = position("index", strides(index), "d")
    body += fill(SCATTER, index=request.index, axis=axis, place=place, store=written)
    second, second_arguments = kernel(request, "run1", {"y"}, numbers, body)
    return [first, second], [linear("run0", first_arguments, "numel"), linear("run1", second_arguments, *lines)]


def _scatter_add(request: Request, axis: int) -> tuple[list[str], list[Pass]]:
    x, index, source, y = (request.operand(name) for name in ("x", "index", "source", "y"))
    body = begin(request) + unravel(request.index, sizes(y), "i", "d")
    body += fill(
        SCATTER_ADD,
        index=request.index,
        axis=axis,
        value=dialect.compute(x.dtype),
        inside=" && ".join(f"d{a} < index_size{a}" for a in range(x.ndim) if a != axis) or "1",
        plus="||" if x.dtype == "bool" else "+",
        place=_along(index, axis, "k"),
        x=load(request, x, position("x", strides(x), "d")),
        source=load(request, source, _along(source, axis, "k")),
        store=store(y, position("y", strides(y), "d"), "sum"),
    )
    numbers = [("numel", request.index), *shape_numbers(request, x, index, source, y)]
    text, arguments = kernel(request, "run", {"y"}, numbers, body)
    return [text], [linear("run", arguments, "numel")]


# Each element counts how many come before it: stable, and no item waits for another.
SORT = """
  const $index line = $line;
  const $value own = $own;
  $index rank = 0;
  for ($index k = 0; k < x_size$axis; ++k) {
    const $value other = $other;
    const int equal = other == own || (other != other && own != own);
    if ($before || (k < d$axis && equal)) ++rank;
  }
"""
BEFORE = {
    False: "other < own || (own != own && other == other)",
    True: "other > own || (other != other && own == own)",
}


def sort(op: Op, request: Request) -> Program:
    x, values, indices = (request.operand(name) for name in ("x", "values", "indices"))
    axis, body = request.attributes["axis"], begin(request) + unravel(request.index, sizes(x), "i", "d")
    own = f"line + d{axis} * x_stride{axis}" if x.ndim else "x_offset"
    if x.ndim:
        body += fill(
            SORT,
            index=request.index,
            axis=axis,
            value=dialect.compute(x.dtype),
            line=_along(x, axis, "0"),
            own=load(request, x, own),
            other=load(request, x, f"line + k * x_stride{axis}"),
            before=BEFORE[request.attributes["descending"]],
        )
    body += "  " + put(values, _along(values, axis, "rank"), bits(x, own)) + "\n"
    body += "  " + put(indices, _along(indices, axis, "rank"), f"d{axis}" if x.ndim else "0") + "\n"
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
