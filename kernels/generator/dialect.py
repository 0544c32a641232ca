"""What differs between languages: the words of a kernel, and how elements are read and written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import Request

# dtype: (what lies in memory, what is computed with, its unsigned counterpart)
TYPES = {
    "float32": ("float", "float", ""),
    "float64": ("double", "double", ""),
    "float16": ("ushort", "float", ""),
    "bfloat16": ("ushort", "float", ""),
    "int8": ("char", "char", "uchar"),
    "int16": ("short", "short", "ushort"),
    "int32": ("int", "int", "uint"),
    "int64": ("long", "long", "ulong"),
    "uint8": ("uchar", "uchar", "uchar"),
    "bool": ("uchar", "uchar", "uchar"),
}
LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8}
HALVES = ("float16", "bfloat16")


def storage(dtype: str) -> str:
    return TYPES[dtype][0]


def compute(dtype: str) -> str:
    return TYPES[dtype][1]


def kind(dtype: str) -> str:
    """Which of an op's expressions is meant: "float", "int" or "bool"."""
    return "bool" if dtype == "bool" else "float" if "float" in dtype else "int"


def load(dtype: str, pointer: str, at: str) -> str:
    if dtype in HALVES:
        return f"read_{dtype}({pointer}[{at}])"
    return f"({pointer}[{at}] != 0)" if dtype == "bool" else f"{pointer}[{at}]"


def store(dtype: str, pointer: str, at: str, value: str) -> str:
    if dtype in HALVES:
        return f"{pointer}[{at}] = write_{dtype}({value});"
    value = f"(({value}) != 0)" if dtype == "bool" else value
    return f"{pointer}[{at}] = ({storage(dtype)})({value});"


def literals(text: str, dtype: str) -> str:
    """Numbers with a point are of the type that is computed with, so that no double arises beside float."""
    if compute(dtype) != "float":
        return text
    return re.sub(r"(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)(?![\w.])", r"\1f", text)


def prelude(request: Request) -> str:
    """Words that all sources may use."""
    words = CUDA_WORDS if request.dialect in ("cuda-c", "hip") else OPENCL_WORDS
    if request.dialect == "opencl-c" and request.doubles:
        words = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define HAVE_DOUBLE 1\n" + words
    if request.dialect in ("cuda-c", "hip"):
        words = "#define HAVE_DOUBLE 1\n" + words
    return words + HALF_WORDS + NUMBER_WORDS + "\n"


OPENCL_WORDS = """#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel
#define GLOBAL __global
#define LOCAL __local
#define FUNCTION
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP(axis) ((long)get_group_id(axis))
#define ITEM(axis) ((int)get_local_id(axis))
#define ITEMS(axis) ((int)get_local_size(axis))
#define BITS_OF(x) as_uint(x)
#define FLOAT_OF(x) as_float(x)
#define SIZED(type, name) type name
"""

CUDA_WORDS = """#define KERNEL extern "C" __global__
#define GLOBAL
#define LOCAL __shared__
#define FUNCTION __device__ __forceinline__
#define BARRIER() __syncthreads()
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define long long long
FUNCTION long GROUP(int axis) { return axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z; }
FUNCTION int ITEM(int axis) { return axis == 0 ? threadIdx.x : axis == 1 ? threadIdx.y : threadIdx.z; }
FUNCTION int ITEMS(int axis) { return axis == 0 ? blockDim.x : axis == 1 ? blockDim.y : blockDim.z; }
#define BITS_OF(x) __float_as_uint(x)
#define FLOAT_OF(x) __uint_as_float(x)
#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)
"""

# From float64, rounded to odd: the next rounding, to 16 bits, is then as if it were the only one.
_NARROW = """
FUNCTION float narrow(double x) {
  const float f = (float)x;
  if (x != x || (double)f == x) return f;
  const uint b = BITS_OF(f);
  if (b & 1u) return f;
  return FLOAT_OF(fabs((double)f) > fabs(x) ? b - 1u : b + 1u);
}
"""

# From an integer, rounded to odd for the same reason.
_NARROW_INTEGER = """
FUNCTION float narrow_integer(long x) {
  ulong rest = x < 0 ? 0 - (ulong)x : (ulong)x, lost = 0;
  int shift = 0;
  for (; rest >> 24; rest >>= 1, ++shift) lost |= rest & 1;
  const float size = ldexp((float)(uint)(rest | lost), shift);
  return x < 0 ? -size : size;
}
"""

# Both 16-bit floats by their bits, so that a chip needs neither; to nearest, ties to even.
HALF_WORDS = """FUNCTION float read_bfloat16(ushort b) { return FLOAT_OF((uint)b << 16); }
FUNCTION ushort write_bfloat16(float x) {
  uint b = BITS_OF(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return (ushort)((b >> 16) | 0x40u);
  return (ushort)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
FUNCTION float read_float16(ushort h) {
  uint sign = (uint)(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return FLOAT_OF(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u) return FLOAT_OF(sign | ((rest << 13) + 0x38000000u));
  float small = (float)rest * 5.9604644775390625e-8f;
  return sign ? -small : small;
}
FUNCTION ushort write_float16(float x) {
  uint b = BITS_OF(x), sign = (b >> 16) & 0x8000u, rest = b & 0x7fffffffu;
  if (rest > 0x7f800000u) return (ushort)(sign | 0x7e00u | ((rest >> 13) & 0x3ffu));
  if (rest >= 0x47800000u) return (ushort)(sign | 0x7c00u);
  if (rest < 0x38800000u) {
    float scaled = FLOAT_OF(rest) * 16777216.0f;
    return (ushort)(sign | (uint)rint(scaled));
  }
  rest += 0xfffu + ((rest >> 13) & 1u);
  return (ushort)(sign | ((rest - 0x38000000u) >> 13));
}
"""

# Integer division as Python's, powers, shifts: a function a type where C's operators do something else.
_INTEGERS = """
FUNCTION int is_minus_one_TYPE(TYPE b) { return (TYPE)-1 < 0 && b == (TYPE)-1; }
FUNCTION TYPE floor_divide_TYPE(TYPE a, TYPE b) {
  if (b == 0) return 0;
  if (is_minus_one_TYPE(b)) return (TYPE)(0 - (UTYPE)a);
  TYPE q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
FUNCTION TYPE fmod_TYPE(TYPE a, TYPE b) { return b == 0 || is_minus_one_TYPE(b) ? 0 : a % b; }
FUNCTION TYPE remainder_TYPE(TYPE a, TYPE b) {
  TYPE r = fmod_TYPE(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
FUNCTION TYPE pow_TYPE(TYPE a, TYPE b) {
  if (b < 0) return a == 1 ? 1 : a == (TYPE)-1 ? ((b & 1) ? (TYPE)-1 : 1) : 0;
  UTYPE result = 1, base = (UTYPE)a;
  for (; b; b >>= 1) {
    if (b & 1) result *= base;
    base *= base;
  }
  return (TYPE)result;
}
FUNCTION int too_far_TYPE(TYPE places) { return places < 0 || places >= (TYPE)(8 * sizeof(TYPE)); }
FUNCTION TYPE left_shift_TYPE(TYPE a, TYPE b) { return too_far_TYPE(b) ? 0 : (TYPE)((UTYPE)a << b); }
FUNCTION TYPE right_shift_TYPE(TYPE a, TYPE b) { return too_far_TYPE(b) ? (a < 0 ? (TYPE)-1 : 0) : a >> b; }
"""

# Floats: Python's division, and conversion to integers, which truncates and saturates.
_FLOATS = """
FUNCTION TYPE remainder_TYPE(TYPE a, TYPE b) {
  TYPE r = fmod(a, b);
  if (r == 0) return copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
FUNCTION TYPE floor_divide_TYPE(TYPE a, TYPE b) {
  if (b == 0) return a / b;
  TYPE r = fmod(a, b);
  TYPE q = (a - r) / b;
  if (r != 0 && ((r < 0) != (b < 0))) q -= 1;
  if (q == 0) return copysign((TYPE)0, a / b);
  TYPE f = floor(q);
  return q - f > (TYPE)0.5 ? f + 1 : f;
}
FUNCTION long to_integer_TYPE(TYPE x, long low, long high) {
  if (x != x) return 0;
  if (x <= (TYPE)low) return low;
  return x >= (TYPE)high ? high : (long)x;
}
"""


def _number_words() -> str:
    pairs = sorted({(compute, unsigned) for _, compute, unsigned in TYPES.values() if unsigned})
    text = "".join(_INTEGERS.replace("UTYPE", unsigned).replace("TYPE", signed) for signed, unsigned in pairs)
    doubles = "#ifdef HAVE_DOUBLE\n" + _NARROW + _FLOATS.replace("TYPE", "double") + "#endif\n"
    return text + _NARROW_INTEGER + _FLOATS.replace("TYPE", "float") + doubles


NUMBER_WORDS = _number_words()
