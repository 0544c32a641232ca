"""Random numbers by counter: Philox 4x32-10, the same words on every device."""

from __future__ import annotations

from ..definitions import Op
from .movement import begin, place_of, shape_numbers
from .source import Program, Request, kernel, linear, program, store

PHILOX = """#define DOUBLE(high, low) ((double)((high) >> 5) * 67108864.0 + (double)((low) >> 6))
FUNCTION void philox(ulong block, ulong seed, uint *c) {
  uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
  c[0] = (uint)block; c[1] = (uint)(block >> 32); c[2] = 0; c[3] = 0;
  for (int round = 0; round < 10; ++round) {
    const ulong p = (ulong)0xD2511F53u * c[0], q = (ulong)0xCD9E8D57u * c[2];
    const uint c1 = c[1], c3 = c[3];
    c[0] = (uint)(q >> 32) ^ c1 ^ k0;
    c[1] = (uint)q;
    c[2] = (uint)(p >> 32) ^ c3 ^ k1;
    c[3] = (uint)p;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
"""
BITS = {"float32": 24, "float16": 11, "bfloat16": 8}

COSINE = """FUNCTION TYPE cosine_of_turns(TYPE turns) {
  const TYPE quarters = rint(turns * 4), rest = (turns - quarters / 4) * (TYPE)6.283185307179586;
  const int which = (int)quarters & 3;
  return which == 0 ? cos(rest) : which == 1 ? -sin(rest) : which == 2 ? -cos(rest) : sin(rest);
}
"""


def _numbers(request: Request) -> list[tuple[str, str]]:
    return [
        ("numel", request.index),
        *shape_numbers(request, request.operand("y")),
        ("seed", "ulong"),
        ("offset", "ulong"),
    ]


def uniform(op: Op, request: Request) -> Program:
    (y,) = request.given
    body = begin(request) + place_of(request, y) + "  uint c[4];\n"
    if y.dtype == "float64":
        body += "  philox(offset + (ulong)(i / 2), seed, c);\n  const int w = (i % 2) * 2;\n"
        value = "DOUBLE(c[w], c[w + 1]) * 1.1102230246251565e-16"
    else:
        bits = BITS[y.dtype]
        body += "  philox(offset + (ulong)(i / 4), seed, c);\n"
        value = f"(float)(c[i % 4] >> {32 - bits}) * {2.0**-bits!r}f"
    body += "  " + store(y, "at", value) + "\n"
    text, arguments = kernel(request, "run", {"y"}, _numbers(request), body)
    return program(request, [PHILOX, text], [linear("run", arguments, "numel")])


def normal(op: Op, request: Request) -> Program | None:
    (y,) = request.given
    if not request.doubles:
        return None  # float32 alone is not within 2 ulp
    body = begin(request) + place_of(request, y) + "  uint c[4];\n"
    if y.dtype == "float64":
        body += "  philox(offset + (ulong)(i / 2), seed, c);\n"
        body += "  const double u = (DOUBLE(c[0], c[1]) + 1.0) * 1.1102230246251565e-16;\n"
        body += "  const double v = DOUBLE(c[2], c[3]) * 1.1102230246251565e-16;\n"
    else:
        body += "  philox(offset + (ulong)(i / 4), seed, c);\n  const int w = (i / 2) % 2 * 2;\n"
        body += "  const double u = ((double)(c[w] >> 8) + 1.0) * 5.9604644775390625e-08;\n"
        body += "  const double v = (double)(c[w + 1] >> 8) * 5.9604644775390625e-08;\n"
    body += "  const double x = sqrt(-2.0 * log(u)) * cosine_of_turns(i % 2 ? v - 0.25 : v);\n"
    value = "x" if y.dtype == "float64" else "(float)x"
    body += "  " + store(y, "at", value) + "\n"
    text, arguments = kernel(request, "run", {"y"}, _numbers(request), body)
    return program(request, [PHILOX, COSINE.replace("TYPE", "double"), text], [linear("run", arguments, "numel")])


WRITERS = {"uniform": uniform, "normal": normal}
