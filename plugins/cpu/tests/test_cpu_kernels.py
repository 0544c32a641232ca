"""Reductions, matrix products, indexing, movement, creation and random numbers against NumPy."""

from __future__ import annotations

import itertools
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
    name_of,
    run_layouts,
    same_bits,
    truth,
    wide,
    within_reduction_bound,
    within_ulp,
)
from cpu_driver import DTYPES, STATUS_OUT_OF_RANGE, Cpu, poisoned

SHAPE = (3, 4, 5)
AXES = [None, [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def reduced_shape(shape: tuple[int, ...], axis: list[int] | None, keepdim: bool) -> tuple[int, ...]:
    axes = range(len(shape)) if axis is None else axis
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdim or i not in axes)


def numpy_axis(axis: list[int] | None) -> tuple[int, ...] | None:
    return None if axis is None else tuple(axis)


# ---- Reductions ----


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
def test_sum_and_mean(cpu: Cpu, dtype: str, axis: list[int] | None, keepdim: bool):
    x = draw(SHAPE, dtype)
    count = x.size // max(1, math.prod(reduced_shape(SHAPE, axis, False)))
    output = [(reduced_shape(SHAPE, axis, keepdim), x.dtype)]
    total = wide(x).sum(numpy_axis(axis), keepdims=keepdim)
    absolute = np.abs(wide(x)).sum(numpy_axis(axis), keepdims=keepdim)
    if dtype == "int64":
        run_layouts(cpu, "sum", [x], output, lambda y: same_bits(y, total), axis=axis, keepdim=keepdim)
        return
    bound = within_reduction_bound
    run_layouts(cpu, "sum", [x], output, lambda y: bound(y, total, absolute, count), axis=axis, keepdim=keepdim)
    run_layouts(
        cpu,
        "mean",
        [x],
        output,
        lambda y: bound(y, total / count, absolute / count, count),
        axis=axis,
        keepdim=keepdim,
    )


@pytest.mark.parametrize("shape", [(50_003,), (70, 301), (301, 70), (9, 1030), (1030, 9), (600, 2, 40)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_long_sums_stay_within_the_bound(cpu: Cpu, dtype: str, shape: tuple[int, ...]):
    x = draw(shape, dtype, low=0.5, high=1.5)
    for axis in range(len(shape)):
        total = np.asarray(np.vectorize(math.fsum, signature="(n)->()")(np.moveaxis(wide(x), axis, -1)))
        found = cpu("sum", [x], [(total.shape, x.dtype)], axis=[axis])
        within_reduction_bound(found, total, total, shape[axis])


def test_sums_of_small_integers_are_exact(cpu: Cpu):
    for dtype, shape, axis in itertools.product(FLOATS, [(1000, 33), (33, 1000)], [0, 1]):
        x = np.random.default_rng(5).integers(-1, 2, shape).astype(DTYPES[dtype][0])
        total = wide(x).sum(axis)
        same_bits(cpu("sum", [x], [(total.shape, x.dtype)], axis=[axis]), total.astype(x.dtype))


def test_integer_sums_wrap(cpu: Cpu):
    x = np.full(40, 2**62, np.int64)
    assert cpu("sum", [x], [((), "i8")], axis=[0]) == x.sum()


def test_reductions_of_nothing(cpu: Cpu):
    x = np.empty((0, 3), "f4")
    assert cpu("sum", [x], [((3,), "f4")], axis=[0]).tolist() == [0, 0, 0]
    assert np.isnan(cpu("mean", [x], [((3,), "f4")], axis=[0])).all()
    assert cpu("sum", [np.empty((0,), "i8")], [((), "i8")], axis=[0]) == 0


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", ALL)
def test_max_and_min(cpu: Cpu, dtype: str, axis: list[int] | None):
    for shape in (SHAPE, (2, 3, 300), (300, 2, 11)):
        x = draw(shape, dtype)
        if dtype in INTEGERS:
            x.flat[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
        elif dtype != "bool":
            x.flat[1::13], x.flat[0], x.flat[3] = np.nan, np.inf, -np.inf
        output = [(reduced_shape(shape, axis, False), x.dtype)]
        for op, function in (("max", np.max), ("min", np.min)):
            expected = np.asarray(function(wide(truth(x)), numpy_axis(axis))).astype(x.dtype)
            run_layouts(cpu, op, [x], output, lambda y: same_bits(y, expected), axis=axis)  # noqa: B023


@pytest.mark.parametrize("dtype", ALL)
def test_argmax_is_the_first_greatest_and_the_first_nan(cpu: Cpu, dtype: str):
    for shape, axis in [((3, 4, 700), 2), ((5, 6), 0), ((40,), 0)]:
        x = draw(shape, dtype)
        if dtype in FLOATS:
            x.flat[[7, 9]] = np.nan
        expected = np.asarray(np.argmax(wide(truth(x)), axis))
        run_layouts(cpu, "argmax", [x], [(expected.shape, np.int64)], lambda y: same_bits(y, expected), axis=axis)  # noqa: B023
    lowest = np.full((2, 3), -np.inf if dtype in FLOATS else 0).astype(DTYPES[dtype][0])
    assert cpu("argmax", [lowest], [((2, 1), "i8")], axis=1, keepdim=True).tolist() == [[0], [0]]


@pytest.mark.parametrize("correction", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("dtype", FLOATS)
def test_variance_is_taken_in_two_passes(cpu: Cpu, dtype: str, correction: float):
    offset = 1000.0 if dtype in ("float32", "float64") else 4.0
    for shape, axis in itertools.product([SHAPE, (700, 30), (30, 700)], [None, [0], [1]]):
        x = (draw(shape, "float64") + offset).astype(DTYPES[dtype][0])
        count = x.size if axis is None else shape[axis[0]]
        mean = wide(x).mean(numpy_axis(axis), keepdims=True)
        expected = np.asarray(((wide(x) - mean) ** 2).sum(numpy_axis(axis)) / (count - correction))
        output = [(expected.shape, x.dtype)]
        limit = 1 if dtype != "float64" else 64
        given = {"axis": axis, "correction": correction}
        run_layouts(cpu, "var", [x], output, lambda y: within_ulp(y, expected, limit), **given)  # noqa: B023
    assert np.isnan(cpu("var", [np.ones(1, "f4")], [((), "f4")], axis=[0]))


# ---- Matrix products ----


def matmul_cases() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    sizes = [(1, 1, 1), (2, 3, 4), (7, 17, 33), (16, 16, 16), (33, 65, 5), (1, 50, 40), (40, 50, 1), (64, 64, 64)]
    plain = [((m, k), (k, n)) for m, k, n in sizes]
    batched = [((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 20, 30), (2, 3, 30, 20))]
    return plain + batched


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64"])
@pytest.mark.parametrize("shapes", matmul_cases(), ids=str)
def test_matmul(cpu: Cpu, shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: str):
    a, b = draw(shapes[0], dtype, 1), draw(shapes[1], dtype, 2)
    expected = wide(a) @ wide(b)
    output = [(expected.shape, a.dtype)]
    if dtype in INTEGERS:
        run_layouts(cpu, "matmul", [a, b], output, lambda y: same_bits(y, expected))
        return
    absolute = np.abs(wide(a)) @ np.abs(wide(b))
    run_layouts(cpu, "matmul", [a, b], output, lambda y: within_reduction_bound(y, expected, absolute, a.shape[-1]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_of_small_integers_is_exact(cpu: Cpu, dtype: str):
    rng = np.random.default_rng(1)
    for m, k, n in [(5, 64, 7), (33, 500, 17), (200, 64, 100)]:
        a, b = (rng.integers(-1, 2, s).astype(DTYPES[dtype][0]) for s in ((m, k), (k, n)))
        expected = (wide(a) @ wide(b)).astype(a.dtype)
        for left, right in [(a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[:, ::-1], b[::-1])]:
            same_bits(cpu("matmul", [left, right], [((m, n), a.dtype)]), expected)


def test_matmul_over_nothing_is_zero(cpu: Cpu):
    for dtype in ["float32", "float64", "float16", "int32"]:
        a, b = np.empty((3, 0), DTYPES[dtype][0]), np.empty((0, 40), DTYPES[dtype][0])
        assert not wide(cpu("matmul", [a, b], [((3, 40), a.dtype)])).any()


def test_matmul_keeps_float32_whole(cpu: Cpu):
    assert cpu("matmul", [np.array([[1e5, 1]], "f4"), np.array([[1], [-1]], "f4")], [((1, 1), "f4")]) == 99999
    assert cpu("matmul", [np.array([[4097]], "f4"), np.array([[3]], "f4")], [((1, 1), "f4")]) == 12291
    a, b = np.full((8, 640), 4097, "f4"), np.full((640, 8), 3, "f4")
    assert (cpu("matmul", [a, b], [((8, 8), "f4")]) == 12291 * 640).all()


def test_matmul_takes_blocks_and_broadcast_rows(cpu: Cpu):
    big = draw((90, 80), "float32")
    a, b = big[5:45, 3:33], big[10:40, 20:70]
    expected = wide(a) @ wide(b)
    within_reduction_bound(cpu("matmul", [a, b], [((40, 50), "f4")]), expected, np.abs(wide(a)) @ np.abs(wide(b)), 30)
    row = np.broadcast_to(big[0, :30], (40, 30))
    absolute = np.abs(wide(row)) @ np.abs(wide(b))
    within_reduction_bound(cpu("matmul", [row, b], [((40, 50), "f4")]), wide(row) @ wide(b), absolute, 30)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_times_a_matrix_of_equal_values_keeps_the_bound(cpu: Cpu, dtype: str):
    """One accumulator for all of k would round in the same direction every time."""
    k, n = 4000, 300
    a, b = np.full((1, k), 1.1).astype(DTYPES[dtype][0]), np.full((k, n), 1.3).astype(DTYPES[dtype][0])
    if dtype == "float16":
        a = (a / 100).astype(a.dtype)
    expected = np.full((1, n), float(k * np.longdouble(wide(a)[0, 0]) * np.longdouble(wide(b)[0, 0])))
    for left, right in [(a, b), (a, np.asfortranarray(b)), (a, np.broadcast_to(b[0], (k, n))), (a, b[:, ::-1])]:
        within_reduction_bound(cpu("matmul", [left, right], [((1, n), a.dtype)]), expected, expected, k)
        turned = cpu("matmul", [right.T, left.T], [((n, 1), a.dtype)])
        within_reduction_bound(turned, expected.T, expected.T, k)


# ---- Indexing ----


@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
@pytest.mark.parametrize("dtype", ALL)
def test_gather(cpu: Cpu, dtype: str, index_dtype: str):
    x = draw((4, 6, 5), dtype)
    for axis in range(3):
        shape = [3, 5, 4]
        shape[axis] = 9
        index = np.random.default_rng(axis).integers(-x.shape[axis], x.shape[axis], shape).astype(index_dtype)
        cut = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(shape))
        expected = np.take_along_axis(truth(x)[cut], index.astype(np.int64), axis)
        run_layouts(cpu, "gather", [x, index], [(index.shape, x.dtype)], lambda y: same_bits(y, expected), axis=axis)  # noqa: B023


@pytest.mark.parametrize("reduce", ["set", "add"])
@pytest.mark.parametrize("dtype", ALL)
def test_scatter_with_duplicates(cpu: Cpu, dtype: str, reduce: str):
    x = draw((4, 6, 5), dtype)
    for axis in range(3):
        shape = [3, 5, 4]
        shape[axis] = 11
        index = np.random.default_rng(axis).integers(-x.shape[axis], x.shape[axis], shape)
        source = draw(tuple(shape), dtype, 7)
        expected = wide(truth(x)).copy()
        for position in np.ndindex(*shape):
            place = tuple(index[position] if i == axis else p for i, p in enumerate(position))
            item = wide(truth(source))[position]
            expected[place] = item if reduce == "set" else expected[place] + item
        if dtype == "bool":
            expected = expected != 0

        def check(y: np.ndarray, expected: np.ndarray = expected) -> None:
            if dtype in FLOATS and reduce == "add":
                within_reduction_bound(y, expected, np.full(expected.shape, 36.0), 12)
            else:
                same_bits(y, expected.astype(x.dtype))

        run_layouts(cpu, "scatter", [x, index, source], [(x.shape, x.dtype)], check, axis=axis, reduce=reduce)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_many_additions_into_few_places_are_all_counted(cpu: Cpu, dtype: str):
    count = 100_000 if dtype == "float32" else 3000
    ones, index = np.ones(count, DTYPES[dtype][0]), np.arange(count) % 3
    sums = [-(-(count - i) // 3) for i in range(3)]
    found = cpu("scatter", [np.zeros(3, ones.dtype), index, ones], [((3,), ones.dtype)], axis=0, reduce="add")
    same_bits(found, np.array(sums).astype(ones.dtype))
    found = cpu("embedding_backward", [ones.reshape(-1, 1), index], [((3, 1), ones.dtype)], rows=3)
    same_bits(found.ravel(), np.array(sums).astype(ones.dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_embedding(cpu: Cpu, dtype: str):
    weight, index = draw((7, 5), dtype), np.array([[0, 6, -1], [3, 3, -7]], np.int32)
    expected = truth(weight)[index]
    run_layouts(cpu, "embedding", [weight, index], [(expected.shape, weight.dtype)], lambda y: same_bits(y, expected))


@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding_backward(cpu: Cpu, dtype: str):
    dy, index = draw((2, 3, 5), dtype), np.array([[0, 6, -1], [3, 3, -7]])
    expected, absolute = np.zeros((7, 5)), np.zeros((7, 5))
    np.add.at(expected, index, wide(dy))
    np.add.at(absolute, index, np.abs(wide(dy)))
    run_layouts(
        cpu,
        "embedding_backward",
        [dy, index],
        [((7, 5), dy.dtype)],
        lambda y: within_reduction_bound(y, expected, absolute, 2),
        rows=7,
    )


def out_of_range_calls() -> list[Any]:
    x, f = np.ones((3, 4), "f4"), np.ones((2, 4), "f4")
    bad = np.array([[0, 1, 2, 3], [0, 0, 0, 0]])
    low = np.array([[0, 1, 2, -4], [0, 0, 0, 0]])
    pooled, shape = np.full((1, 2, 2, 2), 9), {"shape": [1, 2, 3, 3]}
    return [
        ("gather", [x, bad], (2, 4), {"axis": 0}, "index 3 at position 3"),
        ("gather", [x, low], (2, 4), {"axis": 0}, "index -4 at position 3"),
        ("scatter", [x, bad, f], (3, 4), {"axis": 0}, "axis of size 3"),
        ("embedding", [x, bad], (2, 4, 4), {}, "index 3"),
        ("embedding_backward", [np.ones((2, 4, 5), "f4"), bad], (3, 5), {"rows": 3}, "index 3"),
        ("cross_entropy", [x, np.array([0, 4, 1]), None], (), {}, "target 4 at position 1"),
        ("cross_entropy_backward", [np.ones((), "f4"), x, np.array([0, 1, -5]), None], (3, 4), {}, "target -5"),
        ("max_pool2d_backward", [f.reshape(1, 2, 2, 2), pooled], (1, 2, 3, 3), shape, "index 9"),
    ]


@pytest.mark.parametrize("call", out_of_range_calls(), ids=lambda c: f"{c[0]} {c[4]}")
def test_an_index_out_of_range_is_an_error_and_writes_nothing(cpu: Cpu, call: Any):
    op, inputs, shape, attributes, sentence = call
    y = poisoned(shape, "f4")
    assert cpu.launch(op, inputs, [y], attributes) == STATUS_OUT_OF_RANGE
    assert sentence in cpu.last_error()
    assert (y.reshape(-1).view(np.uint8) == 0xFF).all()


# ---- Movement and creation ----


@pytest.mark.parametrize("dtype", ALL)
def test_cat(cpu: Cpu, dtype: str):
    for axis in range(3):
        shapes = [tuple(size if i == axis else n for i, n in enumerate(SHAPE)) for size in (2, 0, 5, 1)]
        parts = [draw(shape, dtype, shape[axis]) for shape in shapes]
        expected = np.concatenate([truth(p) for p in parts], axis)
        run_layouts(cpu, "cat", parts, [(expected.shape, parts[0].dtype)], lambda y: same_bits(y, expected), axis=axis)  # noqa: B023


@pytest.mark.parametrize("dtype", ALL)
def test_pad_grows_and_cuts(cpu: Cpu, dtype: str):
    x = draw(SHAPE, dtype)
    for padding in ([1, 2, 0, 0, 3, 0], [-1, 1, 2, -2, 0, 0], [-1, -1, -1, 0, 0, -2], [0] * 6):
        value = 1 if dtype == "bool" else 7
        positive = [(max(padding[2 * i], 0), max(padding[2 * i + 1], 0)) for i in range(3)]
        cut = [slice(max(-padding[2 * i], 0), n - max(-padding[2 * i + 1], 0)) for i, n in enumerate(SHAPE)]
        expected = np.pad(truth(x)[tuple(cut)], positive, constant_values=np.array(value, x.dtype))
        given = {"padding": padding, "value": value}
        run_layouts(cpu, "pad", [x], [(expected.shape, x.dtype)], lambda y: same_bits(y, expected), **given)  # noqa: B023


@pytest.mark.parametrize("dtype", ALL)
def test_full_and_arange(cpu: Cpu, dtype: str):
    kind = DTYPES[dtype][0]
    for value in [3, -2, 2.5]:
        expected = np.full(SHAPE, np.array(value).astype(np.int64 if dtype in INTEGERS else kind).astype(kind))
        if dtype == "uint8" and value == -2:
            expected = np.full(SHAPE, 254, np.uint8)  # integers wrap
        given = {"shape": list(SHAPE), "value": value, "dtype": kind}
        run_layouts(cpu, "full", [], [(SHAPE, kind)], lambda y: same_bits(y, expected), **given)  # noqa: B023
    if dtype in NUMBERS:
        expected = np.arange(100).astype(kind)
        given = {"start": 0, "step": 1, "count": 100, "dtype": kind}
        run_layouts(cpu, "arange", [], [((100,), kind)], lambda y: same_bits(y, expected), **given)
    if dtype in FLOATS:
        found = cpu("arange", [], [((50,), kind)], start=0.5, step=-0.1, count=50, dtype=kind)
        same_bits(found, (0.5 + np.arange(50) * -0.1).astype(kind))


# ---- Random numbers ----


def philox_blocks(seed: int, offset: int, count: int) -> np.ndarray:
    """(count, 4) words, from the definition of Philox 4x32-10."""
    counter = np.arange(count, dtype=np.uint64) + np.uint64(offset)
    low = np.uint64(0xFFFFFFFF)
    c0, c1 = counter & low, counter >> np.uint64(32)
    c2 = c3 = np.zeros(count, np.uint64)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & low,
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & low,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], 1)


def test_philox_is_the_published_generator():
    # The known answer of the authors' own tests for counter and key zero.
    assert philox_blocks(0, 0, 1)[0].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def words_as_float64(words: np.ndarray) -> np.ndarray:
    return (words[:, 0::2] >> np.uint64(5)) * 2.0**26 + (words[:, 1::2] >> np.uint64(6))


@pytest.mark.parametrize("seed, offset", [(0, 0), (0x123456789ABCDEF0, 2**32 - 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_random_numbers_are_functions_of_the_counter(cpu: Cpu, dtype: str, seed: int, offset: int):
    kind, shape = DTYPES[dtype][0], (7, 331)
    count = math.prod(shape)
    words = philox_blocks(seed, offset, count // 2 + 1)
    if dtype == "float64":
        uniforms = (words_as_float64(words) * 2.0**-53).ravel()
        pairs = words_as_float64(words)
        u1, u2 = (pairs[:, 0] + 1) * 2.0**-53, pairs[:, 1] * 2.0**-53
    else:
        digits = {"float32": 24, "float16": 11, "bfloat16": 8}[dtype]
        uniforms = ((words >> np.uint64(32 - digits)) * 2.0**-digits).ravel()
        pairs = (words >> np.uint64(8)).astype(np.float64).reshape(-1, 2)
        u1, u2 = (pairs[:, 0] + 1) * 2.0**-24, pairs[:, 1] * 2.0**-24
    radius = np.sqrt(-2 * np.log(u1))
    normals = np.stack([radius * np.cos(2 * np.pi * u2), radius * np.sin(2 * np.pi * u2)], 1).ravel()
    given = {"shape": list(shape), "dtype": kind, "seed": seed, "offset": offset}
    expected = uniforms[:count].reshape(shape).astype(kind)
    run_layouts(cpu, "uniform", [], [(shape, kind)], lambda y: same_bits(y, expected), **given)
    found = cpu("normal", [], [(shape, kind)], **given)
    if dtype == "float64":  # the reference's angle is rounded to float64
        np.testing.assert_allclose(found, normals[:count].reshape(shape), rtol=0, atol=1e-14)
    else:
        within_ulp(found, normals[:count].reshape(shape), 2 if dtype == "float32" else 0.501)
    run_layouts(cpu, "normal", [], [(shape, kind)], lambda y: same_bits(y, found), **given)
    assert name_of(found.dtype) == dtype
