"""Matrix products by tiles, convolutions and pooling by windows."""

from __future__ import annotations

from ..definitions import Op
from . import dialect
from .movement import begin, bits, put, shape_numbers, sizes, strides
from .source import Operand, Pass, Program, Request, fill, kernel, linear, load, position, program, store, unravel

TILE = 16

MATMUL = """
  LOCAL $value ta[$tile][$tile], tb[$tile][$tile];
  const int column = ITEM(0), row = ITEM(1);
  const $index g = GROUP(2);
$batch
  const $index r = GROUP(1) * $tile + row, c = GROUP(0) * $tile + column;
  const $index a_base = $a_base, b_base = $b_base;
  $value sum = 0;
  for ($index t = 0; t < $k; t += $tile) {
    ta[row][column] = r < $m && t + column < $k ? $a : 0;
    tb[row][column] = t + row < $k && c < $n ? $b : 0;
    BARRIER();
    for (int j = 0; j < $tile; ++j) sum += ta[row][j] * tb[j][column];
    BARRIER();
  }
  if (r < $m && c < $n) $store
"""


def matmul(op: Op, request: Request) -> Program:
    a, b, y = (request.operand(name) for name in ("a", "b", "y"))
    batch = y.ndim - 2
    m, n, k = f"y_size{batch}", f"y_size{batch + 1}", f"a_size{a.ndim - 1}"
    place = " + ".join([position("y", strides(y)[:batch], "d"), f"r * y_stride{batch}", f"c * y_stride{batch + 1}"])
    body = fill(
        MATMUL,
        value=dialect.compute(a.dtype),
        index=request.index,
        tile=TILE,
        batch=unravel(request.index, [f"y_size{axis}" for axis in range(batch)], "g", "d"),
        a_base=_base(a, batch),
        b_base=_base(b, batch),
        a=load(request, a, f"a_base + r * a_stride{a.ndim - 2} + (t + column) * a_stride{a.ndim - 1}"),
        b=load(request, b, f"b_base + (t + row) * b_stride{b.ndim - 2} + c * b_stride{b.ndim - 1}"),
        **{"m": m, "n": n, "k": k, "store": store(y, place, "sum")},
    )
    text, arguments = kernel(request, "run", {"y"}, shape_numbers(request, a, b, y), body)
    groups = [([n], TILE), ([m], TILE), ([f"y_size{axis}" for axis in range(batch)], 1)]
    return program(request, [text], [Pass("run", arguments, groups, (TILE, TILE, 1))])


def _base(operand: Operand, batch: int) -> str:
    """Where the matrix of this batch begins; an axis of one is broadcast."""
    name, shift = operand.name, batch - (operand.ndim - 2)
    axes = range(operand.ndim - 2)
    terms = [f"({name}_size{axis} == 1 ? 0 : d{axis + shift} * {name}_stride{axis})" for axis in axes]
    return " + ".join([f"{name}_offset", *terms])


# ---- Convolution: one item for each result ---------------------------------------------------------------------------

WINDOW = [f"{name}{axis}" for name in ("stride", "padding", "dilation") for axis in (0, 1)]

CONV = """
  const $index per_group = weight_size0 / groups, first = d1 / per_group * weight_size1;
  $value sum = $bias;
  for ($index c = 0; c < weight_size1; ++c)
    for ($index u = 0; u < weight_size2; ++u)
      for ($index v = 0; v < weight_size3; ++v) {
        const $index h = d2 * stride0 - padding0 + u * dilation0, w = d3 * stride1 - padding1 + v * dilation1;
        if (h < 0 || h >= x_size2 || w < 0 || w >= x_size3) continue;
        const $index from = x_offset + d0 * x_stride0 + (first + c) * x_stride1 + h * x_stride2 + w * x_stride3;
        const $index by =
            weight_offset + d1 * weight_stride0 + c * weight_stride1 + u * weight_stride2 + v * weight_stride3;
        sum += $x * $weight;
      }
  $store
"""

CONV_INPUT = """
  const $index per_group = weight_size0 / groups, first = d1 / weight_size1 * per_group, c = d1 % weight_size1;
  $value sum = 0;
  for ($index u = 0; u < weight_size2; ++u)
    for ($index v = 0; v < weight_size3; ++v) {
      const $index top = d2 + padding0 - u * dilation0, left = d3 + padding1 - v * dilation1;
      const $index p = top / stride0, q = left / stride1;
      if (top < 0 || left < 0 || p * stride0 != top || q * stride1 != left || p >= dy_size2 || q >= dy_size3) continue;
      for ($index o = first; o < first + per_group; ++o) {
        const $index from = dy_offset + d0 * dy_stride0 + o * dy_stride1 + p * dy_stride2 + q * dy_stride3;
        const $index by =
            weight_offset + o * weight_stride0 + c * weight_stride1 + u * weight_stride2 + v * weight_stride3;
        sum += $dy * $weight;
      }
    }
  $store
"""

CONV_WEIGHT = """
  const $index per_group = dweight_size0 / groups, channel = d0 / per_group * dweight_size1 + d1;
  $value sum = 0;
  for ($index b = 0; b < dy_size0; ++b)
    for ($index p = 0; p < dy_size2; ++p)
      for ($index q = 0; q < dy_size3; ++q) {
        const $index h = p * stride0 - padding0 + d2 * dilation0, w = q * stride1 - padding1 + d3 * dilation1;
        if (h < 0 || h >= x_size2 || w < 0 || w >= x_size3) continue;
        const $index from = x_offset + b * x_stride0 + channel * x_stride1 + h * x_stride2 + w * x_stride3;
        const $index by = dy_offset + b * dy_stride0 + d0 * dy_stride1 + p * dy_stride2 + q * dy_stride3;
        sum += $dy * $x;
      }
  $store
"""


def _by_windows(request: Request, template: str, output: str, numbers: list[str], **places: str) -> Program:
    """One item for each element of the output; `places` say where the elements of the inputs are."""
    y = request.operand(output)
    value = dialect.compute(y.dtype)
    loads = {name: load(request, request.operand(name), place) for name, place in places.items()}
    loads.setdefault("bias", "0")
    body = begin(request) + unravel(request.index, sizes(y), "i", "d")
    written = store(y, position(output, strides(y), "d"), "sum")
    body += fill(template, value=value, index=request.index, store=written, **loads)
    arguments = [("numel", request.index), *shape_numbers(request, *request.given)]
    arguments += [(name, request.index) for name in numbers]
    text, arguments = kernel(request, "run", {output}, arguments, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def conv2d(op: Op, request: Request) -> Program:
    bias = any(operand.name == "bias" for operand in request.given)
    places = {"x": "from", "weight": "by"} | ({"bias": "bias_offset + d1 * bias_stride0"} if bias else {})
    return _by_windows(request, CONV, "y", [*WINDOW, "groups"], **places)


def conv2d_backward_input(op: Op, request: Request) -> Program:
    return _by_windows(request, CONV_INPUT, "dx", [*WINDOW, "groups"], dy="from", weight="by")


def conv2d_backward_weight(op: Op, request: Request) -> Program:
    return _by_windows(request, CONV_WEIGHT, "dweight", [*WINDOW, "groups"], x="from", dy="by")


# ---- Pooling ---------------------------------------------------------------------------------------------------------

MAX_POOL = """
  $index best = -1, from = 0;
  $value greatest = -INFINITY;
  for ($index u = 0; u < kernel_size0; ++u)
    for ($index v = 0; v < kernel_size1; ++v) {
      const $index h = d2 * stride0 - padding0 + u * dilation0, w = d3 * stride1 - padding1 + v * dilation1;
      if (h < 0 || h >= x_size2 || w < 0 || w >= x_size3) continue;
      const $index place = x_offset + d0 * x_stride0 + d1 * x_stride1 + h * x_stride2 + w * x_stride3;
      const $value b = $x;
      if (best >= 0 && !(greatest == greatest && (b > greatest || b != b))) continue;
      greatest = b;
      best = h * x_size3 + w;
      from = place;
    }
  $store
"""

# Each pixel looks for itself among the places that its plane's windows chose.
MAX_POOL_BACKWARD = """
  $value sum = 0;
  for ($index p = 0; p < dy_size2; ++p)
    for ($index q = 0; q < dy_size3; ++q) {
      const $index plane = indices_offset + d0 * indices_stride0 + d1 * indices_stride1;
      const $index k = indices_p[plane + p * indices_stride2 + q * indices_stride3];
      const $index from = dy_offset + d0 * dy_stride0 + d1 * dy_stride1 + p * dy_stride2 + q * dy_stride3;
      if (k == d2 * dx_size3 + d3) sum += $dy;
    }
  $store
"""


def max_pool2d(op: Op, request: Request) -> Program:
    x, y, indices = (request.operand(name) for name in ("x", "y", "indices"))
    stores = put(y, position("y", strides(y), "d"), bits(x, "from"))
    stores += "\n  " + put(indices, position("indices", strides(indices), "d"), "best")
    body = begin(request) + unravel(request.index, sizes(y), "i", "d")
    value = dialect.compute(x.dtype)
    body += fill(MAX_POOL, value=value, index=request.index, x=load(request, x, "place"), store=stores)
    numbers = [("numel", request.index), *shape_numbers(request, x, y, indices)]
    numbers += [(name, request.index) for name in [*WINDOW, "kernel_size0", "kernel_size1"]]
    text, arguments = kernel(request, "run", {"y", "indices"}, numbers, body)
    return program(request, [text], [linear("run", arguments, "numel")])


def max_pool2d_backward(op: Op, request: Request) -> Program:
    return _by_windows(request, MAX_POOL_BACKWARD, "dx", [], dy="from")


WRITERS = {
    "matmul": matmul,
    "conv2d": conv2d,
    "conv2d_backward_input": conv2d_backward_input,
    "conv2d_backward_weight": conv2d_backward_weight,
    "max_pool2d": max_pool2d,
    "max_pool2d_backward": max_pool2d_backward,
}
