"""Reductions and scans: one item for each result where there are many, one group for each where there are few."""

from __future__ import annotations

from ..definitions import Op
from . import dialect
from .movement import begin, shape_numbers, strides
from .source import Operand, Pass, Program, Request, fill, kernel, linear, load, position, program, store, unravel

GROUP = 64
# op: (where it starts, how two values become one, for floats and for integers)
FOLDS = {
    "sum": ("0", "a + b"),
    "prod": ("1", "a * b"),
    "max": (None, "(b > a || b != b) && a == a ? b : a"),
}


def lowest(dtype: str) -> str:
    if dialect.kind(dtype) == "float":
        return "-INFINITY"
    return "0" if dtype in ("uint8", "bool") else f"(-0x{2 ** dialect.LIMITS[dtype] - 1:x}L - 1)"


def fold(op: Op, request: Request) -> Program:
    x, y = request.operand("x"), request.operand("y")
    start, combine = FOLDS[op.name]
    value = dialect.compute(x.dtype)
    start = start or f"({value}){lowest(x.dtype)}"
    write = few if request.few else many
    return write(request, x, y, request.attributes["axis"], value, start, combine)


def _places(request: Request, x: Operand, y: Operand, axes: list[int]) -> tuple[str, str, list[str], str]:
    """Text that finds the line of result i; the line's place; the sizes along it; the place of the result."""
    kept = [a for a in range(x.ndim) if a not in axes]
    text = unravel(request.index, [f"x_size{a}" for a in kept], "i", "d")
    line = " + ".join(["x_offset", *(f"d{n} * x_stride{a}" for n, a in enumerate(kept))])
    own = {a: (a if y.ndim == x.ndim else n) for n, a in enumerate(kept)}
    result = " + ".join(["y_offset", *(f"d{n} * y_stride{own[a]}" for n, a in enumerate(kept))])
    return text, line, [f"x_size{a}" for a in axes], result


def _element(request: Request, x: Operand, axes: list[int]) -> str:
    """Text that reads element k of a line into b."""
    text = unravel(request.index, [f"x_size{a}" for a in axes], "k", "e").replace("  ", "    ", 1)
    place = " + ".join(["line", *(f"e{n} * x_stride{a}" for n, a in enumerate(axes))])
    return text + f"    const {dialect.compute(x.dtype)} b = {load(request, x, place)};\n"


def many(request: Request, x: Operand, y: Operand, axes: list[int], value: str, start: str, combine: str) -> Program:
    text, line, along, result = _places(request, x, y, axes)
    body = begin(request) + text + f"  const {request.index} line = {line}, count = {' * '.join(along) or '1'};\n"
    body += f"  {value} a = {start};\n  for ({request.index} k = 0; k < count; ++k) {{\n{_element(request, x, axes)}"
    body += f"    a = {combine};\n  }}\n  {store(y, result, 'a')}\n"
    source, arguments = kernel(request, "run", {"y"}, [("numel", request.index), *shape_numbers(request, x, y)], body)
    return program(request, [source], [linear("run", arguments, "numel")])


FEW = """
  LOCAL $value part[$group];
  const $index i = GROUP(0);
$kept
  const $index line = $line, count = $count;
  const int item = ITEM(0);
  $value a = $start;
  for ($index k = item; k < count; k += $group) {
$element
    a = $combine;
  }
  part[item] = a;
  for (int step = $group / 2; step > 0; step /= 2) {
    BARRIER();
    if (item < step) {
      const $value a = part[item], b = part[item + step];
      part[item] = $combine;
    }
  }
  if (item == 0) $store
"""


def few(request: Request, x: Operand, y: Operand, axes: list[int], value: str, start: str, combine: str) -> Program:
    kept, line, along, result = _places(request, x, y, axes)
    words = {"value": value, "start": start, "combine": combine, "kept": kept, "line": line, "index": request.index}
    count, element = " * ".join(along) or "1", _element(request, x, axes)
    body = fill(FEW, group=GROUP, count=count, element=element, store=store(y, result, "part[0]"), **words)
    source, arguments = kernel(request, "run", {"y"}, [("numel", request.index), *shape_numbers(request, x, y)], body)
    return program(request, [source], [Pass("run", arguments, [(["numel"], 1), ([], 1), ([], 1)], (GROUP, 1, 1))])


def argmax(op: Op, request: Request) -> Program:
    """The first greatest; a NaN is greater than all."""
    x, y, axis = request.operand("x"), request.operand("y"), request.attributes["axis"]
    axes = [axis] if x.ndim else []
    text, line, along, result = _places(request, x, y, axes)
    value = dialect.compute(x.dtype)
    body = begin(request) + text + f"  const {request.index} line = {line}, count = {' * '.join(along) or '1'};\n"
    body += f"  {value} a = {load(request, x, 'line')};\n  {request.index} best = 0;\n"
    body += f"  for ({request.index} k = 1; k < count; ++k) {{\n{_element(request, x, axes)}"
    body += "    if (a == a && (b > a || b != b)) { a = b; best = k; }\n  }\n"
    body += "  " + store(y, result, "best") + "\n"
    source, arguments = kernel(request, "run", {"y"}, [("numel", request.index), *shape_numbers(request, x, y)], body)
    return program(request, [source], [linear("run", arguments, "numel")])


def scan(op: Op, request: Request) -> Program:
    """One item a line, in order."""
    x, y, axis = request.operand("x"), request.operand("y"), request.attributes["axis"]
    start, combine = FOLDS["sum" if op.name == "cumsum" else "prod"]
    value = "double" if request.doubles and dialect.kind(x.dtype) == "float" else dialect.compute(x.dtype)
    others = [a for a in range(x.ndim) if a != axis]
    lines = [f"x_size{a}" for a in others]
    body = begin(request, " * ".join(lines) or "1") + unravel(request.index, lines, "i", "e")
    for number, a in enumerate(others):
        body += f"  const {request.index} d{a} = e{number};\n"
    body += f"  {value} a = {start};\n"
    count = f"x_size{axis}" if x.ndim else "1"
    loop = f"d{axis}" if x.ndim else "k"
    body += f"  for ({request.index} {loop} = 0; {loop} < {count}; ++{loop}) {{\n"
    body += f"    const {value} b = {load(request, x, position('x', strides(x), 'd'))};\n    a = {combine};\n"
    body += f"    {store(y, position('y', strides(y), 'd'), 'a')}\n  }}\n"
    source, arguments = kernel(request, "run", {"y"}, shape_numbers(request, x, y), body)
    return program(request, [source], [linear("run", arguments, *lines)])


WRITERS = {"sum": fold, "prod": fold, "max": fold, "argmax": argmax, "cumsum": scan, "cumprod": scan}
