"""Elementwise kernels against NumPy in float64, or in exact integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from comparing import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    draw,
    layouts,
    name_of,
    run_layouts,
    same_bits,
    spacing,
    truth,
    wide,
    within_ulp,
)
from cpu_driver import DTYPES, Cpu, poisoned

SHAPE = (3, 5, 7)
erf = np.vectorize(math.erf, otypes=[float])
normal_cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)) if x == x else x, otypes=[float])

UNARY = {  # op: function of float64, limit in ulp for float32 and float64
    "exp": (np.exp, 3),
    "log": (np.log, 3),
    "sqrt": (np.sqrt, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "tanh": (np.tanh, 5),
    "erf": (erf, 16),
    "erfc": (np.vectorize(math.erfc, otypes=[float]), 16),
    "exp2": (np.exp2, 3),
    "expm1": (np.expm1, 3),
    "log2": (np.log2, 3),
    "log10": (np.log10, 3),
    "log1p": (np.log1p, 2),
    "reciprocal": (lambda x: 1 / x, 0.5),
    "sin": (np.sin, 4),
    "cos": (np.cos, 4),
    "tan": (np.tan, 5),
    "asin": (np.arcsin, 4),
    "acos": (np.arccos, 4),
    "atan": (np.arctan, 5),
    "sinh": (np.sinh, 4),
    "cosh": (np.cosh, 4),
    "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 5),
    "sigmoid": (lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1.0) / (1 + np.exp(-np.abs(x))), 3),
    "gelu": (lambda x: np.where(np.isposinf(x), x, x * normal_cdf(x)), 4),
}
EXACT_UNARY = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.where(x < 0, np.zeros_like(x), x),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "square": lambda x: x * x,
}
BINARY = {
    "add": (lambda a, b: a | b if a.dtype == np.bool_ else a + b, ALL),
    "sub": (lambda a, b: a - b, NUMBERS),
    "mul": (lambda a, b: a & b if a.dtype == np.bool_ else a * b, ALL),
    "div": (lambda a, b: a / b, FLOATS),
    "maximum": (np.maximum, ALL),
    "minimum": (np.minimum, ALL),
}
COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-45, -1e-40, 1.1754944e-38, 3.4e38, -3.4e38, 88.72283]
EDGES += [88.72284, -87.33655, -103.97, -103.98, -104.5, 14.5, -14.5, 0.625, -1.0000001, 16777216.0]


def through_float(f: Any, *xs: np.ndarray) -> np.ndarray:
    """16-bit floats are computed in float32 and rounded once."""
    if name_of(xs[0].dtype) in ("float16", "bfloat16"):
        return f(*(x.astype(np.float32) for x in xs)).astype(xs[0].dtype)
    return f(*xs)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", UNARY)
def test_functions_are_within_their_ulp(cpu: Cpu, op: str, dtype: str):
    function, limit = UNARY[op]
    rng = np.random.default_rng(1)
    parts = [np.linspace(-110, 110, 20001), np.linspace(-4, 4, 20001), np.array(EDGES)]
    if dtype == "float32":
        bits = rng.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32).view(np.float32)
        parts.append(bits.astype(np.float64))
    x = np.concatenate(parts).astype(dtype)
    found = cpu(op, [x], [(x.shape, dtype)])
    if dtype == "float64":
        limit = max(limit, 4)  # the reference has the same precision
    if op == "gelu":  # beyond, the float32 result is subnormal, and the float64 reference is not good enough
        normal = (np.abs(x) < (12 if dtype == "float32" else 1)) | ~np.isfinite(x)
        found, x = found[normal], x[normal]
    within_ulp(found, function(x.astype(np.float64)), limit)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_all_16_bit_floats_are_rounded_once(cpu: Cpu, op: str, dtype: str):
    x = np.arange(65536, dtype=np.uint16).view(DTYPES[dtype][0])
    found = cpu(op, [x], [(x.shape, x.dtype)])
    within_ulp(found, UNARY[op][0](x.astype(np.float64)), 0.505 if op != "gelu" else 0.51)


@pytest.mark.parametrize("op", [*UNARY, "gelu_backward"])
def test_a_value_does_not_depend_on_position_and_length(cpu: Cpu, op: str):
    x = draw((1025,), "float32", seed=3, low=0.1, high=9.0)
    inputs = [x] if op != "gelu_backward" else [np.ones_like(x), x]
    whole = cpu(op, inputs, [(x.shape, x.dtype)])
    for length in (1, 3, 4, 5, 7, 8, 15, 16, 17, 33, 1023):
        part = cpu(op, [i[-length:] for i in inputs], [((length,), x.dtype)])
        assert np.array_equal(part, whole[-length:], equal_nan=True), (
            f"the last {length} elements alone give other values"
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [*UNARY, "gelu_backward"])
def test_functions_take_any_layout(cpu: Cpu, op: str, dtype: str):
    x = draw(SHAPE, dtype, low=0.1)
    inputs = [x] if op != "gelu_backward" else [draw(SHAPE, dtype, 5), x]
    dense = cpu(op, inputs, [(SHAPE, x.dtype)])
    run_layouts(cpu, op, inputs, [(SHAPE, x.dtype)], lambda y: same_bits(y, dense))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", EXACT_UNARY)
def test_exact_unary_ops(cpu: Cpu, op: str, dtype: str):
    x = draw(SHAPE, dtype)
    if dtype in INTEGERS:
        x.flat[:3] = [0, np.iinfo(dtype).min, np.iinfo(dtype).max]
    else:
        x.flat[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    expected = through_float(EXACT_UNARY[op], x)
    run_layouts(cpu, op, [x], [(SHAPE, x.dtype)], lambda y: same_bits(y, expected))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", BINARY)
def test_arithmetic(cpu: Cpu, op: str, dtype: str):
    function, dtypes = BINARY[op]
    if dtype not in dtypes:
        pytest.skip("the op does not allow the dtype")
    a, b = draw(SHAPE, dtype, 1), draw(SHAPE, dtype, 2)
    if dtype in INTEGERS:
        a.flat[:4] = b.flat[1:5] = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    elif dtype != "bool":
        a.flat[:5], b.flat[:5] = [np.nan, 1, np.inf, -np.inf, 0], [1, np.nan, -np.inf, np.inf, 0]
    expected = through_float(function, truth(a), truth(b))
    run_layouts(cpu, op, [a, b], [(SHAPE, a.dtype)], lambda y: same_bits(y, expected))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(cpu: Cpu, op: str, dtype: str):
    a, b = draw(SHAPE, dtype, 1), draw(SHAPE, dtype, 2)
    b.flat[::3] = a.flat[::3]
    if dtype in FLOATS:
        a.flat[:5], b.flat[:5] = [np.nan, 1, np.nan, -0.0, 0], [1, np.nan, np.nan, 0.0, 0]
    expected = COMPARISONS[op](wide(truth(a)), wide(truth(b)))
    run_layouts(cpu, op, [a, b], [(SHAPE, np.bool_)], lambda y: same_bits(y, expected))


@pytest.mark.parametrize("dtype", ALL)
def test_logical_not(cpu: Cpu, dtype: str):
    x = draw(SHAPE, dtype)
    x.flat[:2] = 0
    expected = wide(truth(x)) == 0
    run_layouts(cpu, "logical_not", [x], [(SHAPE, np.bool_)], lambda y: same_bits(y, expected))


def test_inputs_broadcast_by_zero_strides(cpu: Cpu):
    for dtype in ("float32", "float16", "int16", "bool"):
        a, row, column, scalar = (draw(s, dtype, i) for i, s in enumerate([(4, 600), (600,), (4, 1), ()]))
        for b in (row, column, scalar):
            stretched = np.broadcast_to(b, a.shape)
            expected = through_float(BINARY["add"][0], truth(a), truth(np.ascontiguousarray(stretched)))
            same_bits(cpu("add", [a, stretched], [(a.shape, a.dtype)]), expected)
            same_bits(cpu("add", [stretched, a], [(a.shape, a.dtype)]), expected)


def test_an_output_may_be_an_input(cpu: Cpu):
    for dtype in ("float32", "bfloat16"):
        a, b = draw((1000,), dtype, 1), draw((1000,), dtype, 2)
        for x in layouts(a.copy()):
            expected = through_float(np.subtract, x.copy(), b)
            cpu("sub", [x, b], [x])
            same_bits(x, expected)


def test_scalars_and_empty_tensors(cpu: Cpu):
    assert cpu("add", [np.array(1.5, "f4"), np.array(2.0, "f4")], [((), "f4")]) == 3.5
    for shape in [(0,), (3, 0, 2)]:
        assert cpu("exp", [np.empty(shape, "f4")], [(shape, "f4")]).shape == shape


def test_integer_powers_are_exact_and_wrap(cpu: Cpu):
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        a = np.array([3, 1, -1, -1, 2, 0, 0, 7, 0, 2, 2], np.int64).astype(dtype)
        b = np.array([5, -3, -3, -4, -1, 0, -1, 77, 5, 7, 70], np.int64).astype(dtype)
        expected = []
        for x, e in zip(a.tolist(), b.tolist(), strict=True):
            power = x**e if e >= 0 else {1: 1, -1: -1 if e % 2 else 1}.get(x, 0)
            bits = power % 2**info.bits
            expected.append(bits - 2**info.bits if bits > info.max else bits)
        assert cpu("pow", [a, b], [(a.shape, dtype)]).tolist() == expected


def test_powers_of_floats(cpu: Cpu):
    a = np.array([-2, -1.5, -2, -0.0, 0, -2, np.nan, 2, np.inf, 1.1], "f4")
    b = np.array([3, 1, -1, 3, 0, 0.5, 0, np.nan, -1, 300], "f4")
    for dtype in FLOATS:
        x, e = a.astype(DTYPES[dtype][0]), b.astype(DTYPES[dtype][0])
        within_ulp(cpu("pow", [x, e], [(x.shape, x.dtype)]), np.power(wide(x), wide(e)), 16)


def test_gelu_backward(cpu: Cpu):
    x = np.linspace(-6, 6, 4001)
    for dtype in FLOATS:
        v, dy = x.astype(DTYPES[dtype][0]), draw(x.shape, dtype)
        w = wide(v)
        reference = wide(dy) * (normal_cdf(w) + w * np.exp(-w * w / 2) / math.sqrt(2 * math.pi))
        found = cpu("gelu_backward", [dy, v], [(x.shape, v.dtype)])
        # the two terms cancel near -0.75, so their errors count against the terms, not against the result
        unit = 2.0**-51 if dtype == "float64" else 2.0**-22
        assert (np.abs(wide(found) - reference) <= np.abs(wide(dy)) * unit + 0.51 * spacing(reference, dtype)).all()


@pytest.mark.parametrize("dtype", ALL)
def test_where_and_masked_fill_choose(cpu: Cpu, dtype: str):
    condition, x, y = draw(SHAPE, "bool", 9), draw(SHAPE, dtype, 1), draw(SHAPE, dtype, 2)
    expected = np.where(truth(condition), truth(x), truth(y))
    run_layouts(cpu, "where", [condition, x, y], [(SHAPE, x.dtype)], lambda z: same_bits(z, expected))
    for value in (2, 0.3 if dtype in FLOATS else 1):
        filled = np.where(truth(condition), np.array(value).astype(x.dtype), truth(x))
        run_layouts(cpu, "masked_fill", [x, condition], [(SHAPE, x.dtype)], lambda z: same_bits(z, filled), value=value)  # noqa: B023


@pytest.mark.parametrize("dtype", ALL)
def test_copies_keep_every_bit_pattern(cpu: Cpu, dtype: str):
    rng = np.random.default_rng(4)
    size = DTYPES[dtype][0].itemsize
    x = rng.integers(0, 256, (40, 65 * size), dtype=np.uint8).view(DTYPES[dtype][0])
    expected = truth(x).astype(np.uint8) if dtype == "bool" else x.copy().view(np.uint8)
    run_layouts(cpu, "copy", [x], [(x.shape, x.dtype)], lambda y: same_bits(y.copy().view(np.uint8), expected))


def saturated(x: np.ndarray, dtype: str) -> np.ndarray:
    """Float to integer as the design says: truncation, saturation, NaN gives 0."""
    info = np.iinfo(dtype)
    clamped = [0 if math.isnan(v) else int(min(max(v, info.min), info.max)) for v in x.tolist()]
    return np.array(clamped, dtype)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", ALL)
def test_casts(cpu: Cpu, source: str, target: str):
    if source == "bool":
        x = draw((600,), "bool")
    elif source in INTEGERS:
        x = np.random.default_rng(2).integers(0, 256, 600 * DTYPES[source][0].itemsize, dtype=np.uint8).view(source)
    else:
        special = [-1.9, 1.9, -0.5, 127.5, 128, 255.9, 256, 300.7, -129, 1e6, -1e6, 2.0**31, 2.0**63, -(2.0**63), 1e30]
        special += [np.nan, np.inf, -np.inf, 0.0, -0.0, 1 + 2.0**-8, 1 + 2.0**-11, 1 + 2.0**-8 + 2.0**-30, 65520.0]
        x = np.concatenate([special, draw((575,), "float64", 1, -300, 300)]).astype(DTYPES[source][0])
    if target == "bool":
        expected = wide(truth(x)) != 0
    elif target in INTEGERS and source in FLOATS:
        expected = saturated(wide(x), target)
    elif target in ("float16", "bfloat16"):
        expected = rounded_once(x, target)
    else:
        expected = truth(x).astype(DTYPES[target][0])
    found = cpu("cast", [x], [(x.shape, DTYPES[target][0])], dtype=DTYPES[target][0])
    same_bits(found, expected)
    for length in (1, 3, 7, 8, 33):
        same_bits(cpu("cast", [x[:length]], [((length,), found.dtype)], dtype=found.dtype), expected[:length])
    run_layouts(cpu, "cast", [x], [(x.shape, found.dtype)], lambda y: same_bits(y, expected), dtype=found.dtype)


def rounded_once(x: np.ndarray, dtype: str) -> np.ndarray:
    """To the nearest 16-bit float, ties to even, by the spacing of each value: exact in float64 and integers."""
    values = truth(x).astype(np.float64)
    if x.dtype == np.int64:  # float64 may round already: keep what is below the last bit as a sticky bit
        large = np.abs(values) >= 2.0**53
        values = np.where(large, ((x >> 11) | ((x & 0x7FF) != 0)).astype(np.float64) * 2048.0, values)
    digits = {"float16": 11, "bfloat16": 8}[dtype]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        unit = np.ldexp(1.0, np.maximum(exponent - 1, -14 if dtype == "float16" else -126) - digits + 1)
        return np.where(np.isfinite(values), np.rint(values / unit) * unit, values).astype(DTYPES[dtype][0])


def test_every_16_bit_float_survives_the_way_through_float(cpu: Cpu):
    for dtype in ("float16", "bfloat16"):
        x = np.arange(65536, dtype=np.uint16).view(DTYPES[dtype][0])
        wider = cpu("cast", [x], [(x.shape, "f4")], dtype="f4")
        same_bits(wider, x.astype(np.float32))
        back = cpu("cast", [wider], [(x.shape, x.dtype)], dtype=x.dtype)
        number = ~np.isnan(wider)
        assert (back.view(np.uint16)[number] == x.view(np.uint16)[number]).all()
        assert np.isnan(wide(back)[~number]).all()


def test_unknown_dtypes_are_refused(cpu: Cpu):
    x = np.zeros(4, "f4")
    assert cpu.launch("exp", [np.zeros(4, "i4")], [poisoned((4,), "i4")]) == 4
    assert "dtype" in cpu.last_error()
    assert cpu.launch("exp", [x], [poisoned((4,), "f4")]) == 0
