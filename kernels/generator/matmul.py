"""Matrix products by tiles, convolutions and pooling by windows."""

from __future__ import annotations

from ..definitions import Op
from . import dialect
from .movement import begin, bits, put, shape_numbers, sizes, strides
from .source import Operand, Pass, Program, Request, kernel, linear, load, position, program, store, unravel

TILE = 16


def matmul(op: Op, request: Request) -> Program:
    a, b, y = (request.operand(name) for name in ("a", "b", "y"))
    value, batch = dialect.compute(a.dtype), y.ndim - 2
    m, n, k = f"y_size{batch}", f"y_size{batch + 1}", f"a_size{a.ndim - 1}"
    body = f"  LOCAL {value} ta[{TILE}][{TILE}], tb[{TILE}][{TILE}];\n"
    body += f"  const int column = ITEM(0), row = ITEM(1);\n  const {request.index} g = GROUP(2);\n"
    body += unravel(request.index, [f"y_size{axis}" for axis in range(batch)], "g", "d")
    body += f"  const {request.index} r = GROUP(1) * {TILE} + row, c = GROUP(0) * {TILE} + column;\n"
    for operand in (a, b):
        body += f"  const {request.index} {operand.name}_base = {_base(operand, batch)};\n"
    body += f"  {value} sum = 0;\n  for ({request.index} t = 0; t < {k}; t += {TILE}) {{\n"
    a_place = f"a_base + r * a_stride{a.ndim - 2} + (t + column) * a_stride{a.ndim - 1}"
    b_place = f"b_base + (t + row) * b_stride{b.ndim - 2} + c * b_stride{b.ndim - 1}"
    body += f"    ta[row][column] = r < {m} && t + column < {k} ? {load(request, a, a_place)} : 0;\n"
    body += f"    tb[row][column] = t + row < {k} && c < {n} ? {load(request, b, b_place)} : 0;\n"
    body += f"    BARRIER();\n    for (int j = 0; j < {TILE}; ++j) sum += ta[row][j] * tb[j][column];\n    BARRIER();\n  }}\n"
    place = " + ".join([position("y", strides(y)[:batch], "d"), f"r * y_stride{batch}", f"c * y_stride{batch + 1}"])
    body += f"  if (r < {m} && c < {n}) {store(y, place, 'sum')}\n"
    text, arguments = kernel(request, "run", {"y"}, shape_numbers(request, a, b, y), body)
    groups = [([n], TILE), ([m], TILE), ([f"y_size{axis}" for axis in range(batch)], 1)]
    return program(request, [text], [Pass("run", arguments, groups, (TILE, TILE, 1))])


def _base(operand: Operand, batch: int) -> str:
    """Where the matrix of this batch begins; an axis of one is broadcast."""
    shift = batch - (operand.ndim - 2)
    terms = [f"({operand.name}_size{axis} == 1 ? 0 : d{axis + shift} * {operand.name}_stride{axis})" for axis in range(operand.ndim - 2)]
    return " + ".join([f"{operand.name}_offset", *terms])


WINDOW = [(f"{name}{axis}", "long") for name in ("stride", "padding", "dilation") for axis in (0, 1)]


def conv2d(op: Op, request: Request) -> Program:
    x, weight, y = (request.operand(name) for name in ("x", "weight", "y"))
    bias = next((o for o in request.given if o.name == "bias"), None)
    value, index = dialect.compute(x.dtype), request.index
    body = begin(request) + unravel(index, sizes(y), "i", "d")
    body += f"  const {index} per_group = weight_size0 / ({index})groups, first = d1 / per_group * weight_size1;\n"
    body += f"  {value} sum = 0;\n"
    body += f"  for ({index} c = 0; c < weight_size1; ++c)\n"
    body += f"    for ({index} u = 0; u < weight_size2; ++u)\n      for ({index} v = 0; v < weight_size3; ++v) {{\n"
    body += f"        const {index} h = d2 * ({index})stride0 - ({index})padding0 + u * ({index})dilation0;\n"
    body += f"        const {index} w = d3 * ({index})stride1 - ({index})padding1 + v * ({index})dilation1;\n"
    body += "        if (h < 0 || h >= x_size2 || w < 0 || w >= x_size3) continue;\n"
    x_place = "x_offset + d0 * x_stride0 + (first + c) * x_stride1 + h * x_stride2 + w * x_stride3"
    w_place = "weight_offset + d1 * weight_stride0 + c * weight_stride1 + u * weight_stride2 + v * weight_stride3"
    body += f"        sum += {load(request, x, x_place)} * {load(request, weight, w_place)};\n      }}\n"
    if bias:
        body += f"  sum += {load(request, bias, 'bias_offset + d1 * bias_stride0')};\n"
    body += "  " + store(y, position("y", strides(y), "d"), "sum") + "\n"
    numbers = [("numel", index), *shape_numbers(request, *request.given), *WINDOW, ("groups", "long")]
    text, arguments = kernel(request, "run", {"y"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def conv2d_backward_input(op: Op, request: Request) -> Program:
    dy, weight, dx = (request.operand(name) for name in ("dy", "weight", "dx"))
    value, index = dialect.compute(dy.dtype), request.index
    body = begin(request) + unravel(index, sizes(dx), "i", "d")
    body += f"  const {index} per_group = weight_size0 / ({index})groups, first = d1 / weight_size1 * per_group, c = d1 % weight_size1;\n"
    body += f"  {value} sum = 0;\n  for ({index} u = 0; u < weight_size2; ++u) {{\n"
    body += f"    const {index} top = d2 + ({index})padding0 - u * ({index})dilation0, p = top / ({index})stride0;\n"
    body += f"    if (top < 0 || p * ({index})stride0 != top || p >= dy_size2) continue;\n"
    body += f"    for ({index} v = 0; v < weight_size3; ++v) {{\n"
    body += f"      const {index} left = d3 + ({index})padding1 - v * ({index})dilation1, q = left / ({index})stride1;\n"
    body += f"      if (left < 0 || q * ({index})stride1 != left || q >= dy_size3) continue;\n"
    body += f"      for ({index} o = 0; o < per_group; ++o)\n"
    dy_place = "dy_offset + d0 * dy_stride0 + (first + o) * dy_stride1 + p * dy_stride2 + q * dy_stride3"
    w_place = "weight_offset + (first + o) * weight_stride0 + c * weight_stride1 + u * weight_stride2 + v * weight_stride3"
    body += f"        sum += {load(request, dy, dy_place)} * {load(request, weight, w_place)};\n    }}\n  }}\n"
    body += "  " + store(dx, position("dx", strides(dx), "d"), "sum") + "\n"
    numbers = [("numel", index), *shape_numbers(request, *request.given), *WINDOW, ("groups", "long")]
    text, arguments = kernel(request, "run", {"dx"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def conv2d_backward_weight(op: Op, request: Request) -> Program:
    dy, x, dweight = (request.operand(name) for name in ("dy", "x", "dweight"))
    value, index = dialect.compute(dy.dtype), request.index
    body = begin(request) + unravel(index, sizes(dweight), "i", "d")
    body += f"  const {index} per_group = dweight_size0 / ({index})groups, channel = d0 / per_group * dweight_size1 + d1;\n"
    body += f"  {value} sum = 0;\n  for ({index} b = 0; b < dy_size0; ++b)\n    for ({index} p = 0; p < dy_size2; ++p) {{\n"
    body += f"      const {index} h = p * ({index})stride0 - ({index})padding0 + d2 * ({index})dilation0;\n"
    body += "      if (h < 0 || h >= x_size2) continue;\n"
    body += f"      for ({index} q = 0; q < dy_size3; ++q) {{\n"
    body += f"        const {index} w = q * ({index})stride1 - ({index})padding1 + d3 * ({index})dilation1;\n"
    body += "        if (w < 0 || w >= x_size3) continue;\n"
    dy_place = "dy_offset + b * dy_stride0 + d0 * dy_stride1 + p * dy_stride2 + q * dy_stride3"
    x_place = "x_offset + b * x_stride0 + channel * x_stride1 + h * x_stride2 + w * x_stride3"
    body += f"        sum += {load(request, dy, dy_place)} * {load(request, x, x_place)};\n      }}\n    }}\n"
    body += "  " + store(dweight, position("dweight", strides(dweight), "d"), "sum") + "\n"
    numbers = [("numel", index), *shape_numbers(request, *request.given), *WINDOW, ("groups", "long")]
    text, arguments = kernel(request, "run", {"dweight"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def max_pool2d(op: Op, request: Request) -> Program:
    x, y, indices = (request.operand(name) for name in ("x", "y", "indices"))
    value, index = dialect.compute(x.dtype), request.index
    body = begin(request) + unravel(index, sizes(y), "i", "d")
    body += f"  {index} best = -1, from = 0;\n  {value} greatest = -INFINITY;\n"
    body += f"  for ({index} u = 0; u < ({index})kernel_size0; ++u)\n    for ({index} v = 0; v < ({index})kernel_size1; ++v) {{\n"
    body += f"      const {index} h = d2 * ({index})stride0 - ({index})padding0 + u * ({index})dilation0;\n"
    body += f"      const {index} w = d3 * ({index})stride1 - ({index})padding1 + v * ({index})dilation1;\n"
    body += "      if (h < 0 || h >= x_size2 || w < 0 || w >= x_size3) continue;\n"
    place = "x_offset + d0 * x_stride0 + d1 * x_stride1 + h * x_stride2 + w * x_stride3"
    body += f"      const {index} place = {place};\n      const {value} b = {load(request, x, 'place')};\n"
    body += "      if (best < 0 || (greatest == greatest && (b > greatest || b != b))) {\n"
    body += "        greatest = b; best = h * x_size3 + w; from = place;\n      }\n    }\n"
    body += "  " + put(y, position("y", strides(y), "d"), bits(x, "from")) + "\n"
    body += "  " + put(indices, position("indices", strides(indices), "d"), "best") + "\n"
    numbers = [("numel", index), *shape_numbers(request, x, y, indices), *WINDOW]
    numbers += [("kernel_size0", "long"), ("kernel_size1", "long")]
    text, arguments = kernel(request, "run", {"y", "indices"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def max_pool2d_backward(op: Op, request: Request) -> Program | None:
    """One item a plane: what meets in one pixel is added in order."""
    dy, indices, dx = (request.operand(name) for name in ("dy", "indices", "dx"))
    if dx.dtype in dialect.HALVES:
        return None  # sums of several terms want a wider place than the output has
    index = request.index
    zero = begin(request) + unravel(index, sizes(dx), "i", "d")
    zero += "  " + store(dx, position("dx", strides(dx), "d"), "0") + "\n"
    numbers = [("numel", index), *shape_numbers(request, dy, indices, dx)]
    first, first_arguments = kernel(request, "run0", {"dx"}, numbers, zero)
    body = begin(request, "dx_size0 * dx_size1") + unravel(index, ["dx_size0", "dx_size1"], "i", "d")
    body += f"  for ({index} d2 = 0; d2 < dy_size2; ++d2)\n    for ({index} d3 = 0; d3 < dy_size3; ++d3) {{\n"
    body += f"      const {index} k = indices_p[{position('indices', strides(indices), 'd')}];\n"
    body += f"      const {index} at = dx_offset + d0 * dx_stride0 + d1 * dx_stride1 + k / dx_size3 * dx_stride2 + k % dx_size3 * dx_stride3;\n"
    body += f"      dx_p[at] += {load(request, dy, position('dy', strides(dy), 'd'))};\n    }}\n"
    second, second_arguments = kernel(request, "run1", {"dx"}, numbers, body)
    passes = [linear("run0", first_arguments, "numel"), linear("run1", second_arguments, "dx_size0", "dx_size1")]
    return program(request, [first, second], passes)


WRITERS = {
    "matmul": matmul,
    "conv2d": conv2d,
    "conv2d_backward_input": conv2d_backward_input,
    "conv2d_backward_weight": conv2d_backward_weight,
    "max_pool2d": max_pool2d,
    "max_pool2d_backward": max_pool2d_backward,
}
