"""The tolerances take good kernels and refuse faulty ones: emulated kernels, with known faults."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from dougong_conformance import tolerance
from dougong_conformance.tolerance import Arithmetic, Witness

BF16 = np.dtype(ml_dtypes.bfloat16)
F16 = np.dtype(np.float16)
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
FLOATS = [F32, F16, BF16, F64]


# -- emulated matrix products -------------------------------------------------------------------------------------


def keep_bits(x: np.ndarray, mantissa: int) -> np.ndarray:
    """float32 rounded to so many mantissa bits, as TF32 (10) and bfloat16 (7) units read it."""
    drop = 23 - mantissa
    raw = x.astype(np.float32).view(np.uint32)
    raw = raw + np.uint32((1 << (drop - 1)) - 1) + ((raw >> np.uint32(drop)) & np.uint32(1))
    return (raw & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)).view(np.float32)


def truncated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rounded toward zero, as a kernel does that stores the upper half of a float32."""
    near = tolerance.rounded(x, dtype)
    away = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    return np.where(away, np.nextafter(near, dtype.type(0)), near).astype(dtype)


def sequential(a: np.ndarray, b: np.ndarray, accumulator: np.dtype) -> np.ndarray:
    total = np.zeros((a.shape[0], b.shape[1]), accumulator)
    for k in range(a.shape[1]):
        total = (total + a[:, k : k + 1].astype(accumulator) * b[k : k + 1].astype(accumulator)).astype(accumulator)
    return total


def blas(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def split(a, b):
    half = a.shape[1] // 2
    return blas(a[:, :half], b[:half]) + blas(a[:, half:], b[half:])


def skips_last(a, b):
    total = blas(a, b)
    total[3, 5] -= np.float32(a[3, -1]) * np.float32(b[-1, 5])
    return total


GOOD = {"blas": blas, "sequential": lambda a, b: sequential(a, b, F32), "split": split}
FAULTY = {
    "tf32 inputs": (lambda a, b: blas(keep_bits(a, 10), keep_bits(b, 10)), [F32]),
    "bf16 inputs": (lambda a, b: blas(keep_bits(a, 7), keep_bits(b, 7)), [F32, F16]),
    "narrow accumulator": (lambda a, b: sequential(a, b, BF16), [F32, F16, BF16]),
    "half accumulator": (lambda a, b: sequential(a, b, F16), [F32, F16]),
    "last k skipped": (skips_last, [F32, F16, BF16]),
}
DATA = {
    "signed": lambda rng, shape: rng.standard_normal(shape),
    "positive": lambda rng, shape: rng.random(shape) + 0.1,
}


def small_integers(dtype: np.dtype, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """None of them zero: a product that is left out must show."""
    return (rng.integers(1, 5 if dtype in (F32, F64) else 2, shape) * rng.choice([-1, 1], shape)).astype(dtype)


def judge_matmul(a: np.ndarray, b: np.ndarray, y: np.ndarray, arithmetic=tolerance.IEEE) -> tolerance.Judgement:
    wide = a.astype(np.float64), b.astype(np.float64)
    reference, s = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    if tolerance.sums_are_exact((a, b), s, y.dtype):
        return tolerance.exact(y, reference, arithmetic)
    return tolerance.reduction(y, reference, s, a.shape[1], arithmetic)


def accepted(kernel, dtype: np.dtype, k: int, distribution: str, store=tolerance.rounded) -> bool:
    """Whether a kernel passes both parts of the rule: drawn data, and small integers."""
    rng = np.random.default_rng([k, len(distribution)])
    shapes = (32, k), (k, 32)
    drawn = [DATA[distribution](rng, shape).astype(dtype) for shape in shapes]
    whole = [small_integers(dtype, rng, shape) for shape in shapes]
    return all(judge_matmul(a, b, store(kernel(a, b), dtype)).right for a, b in (drawn, whole))


@pytest.mark.parametrize("k", [64, 1024])
@pytest.mark.parametrize("distribution", DATA)
@pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=str)
@pytest.mark.parametrize("kernel", GOOD)
def test_no_good_matmul_is_refused(kernel, dtype, distribution, k):
    assert accepted(GOOD[kernel], dtype, k, distribution)


@pytest.mark.parametrize("k", [64, 1024])
@pytest.mark.parametrize("distribution", DATA)
@pytest.mark.parametrize("fault,dtype", [(f, d) for f in FAULTY for d in FAULTY[f][1]], ids=str)
def test_every_faulty_matmul_is_refused(fault, dtype, distribution, k):
    assert not accepted(FAULTY[fault][0], dtype, k, distribution)


@pytest.mark.parametrize("k", [64, 1024])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_a_truncated_output_is_refused_by_its_bias(dtype, k):
    assert not accepted(blas, dtype, k, "signed", store=truncated)
    assert not accepted(blas, dtype, k, "positive", store=truncated)


def test_truncating_sums_pass_only_where_they_are_declared():
    rng = np.random.default_rng(5)
    a, b = rng.random((32, 256)).astype(F32), rng.random((256, 32)).astype(F32)
    y = np.zeros((32, 32), F32)
    for k in range(256):
        y = truncated(y.astype(np.float64) + np.outer(a[:, k], b[k]).astype(np.float64), F32)
    assert not judge_matmul(a, b, y).right
    assert judge_matmul(a, b, y, Arithmetic(truncates_sums=True)).right


def test_float64_sums_are_held_to_float64():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((32, 200)), rng.standard_normal((200, 32))
    assert judge_matmul(a, b, sequential(a, b, F64)).right
    assert not judge_matmul(a, b, blas(a, b).astype(np.float64)).right


# -- exact and rounded results ------------------------------------------------------------------------------------


def test_exact_means_bits_but_for_nan():
    wanted = np.array([0.0, -0.0, np.nan, np.inf, 1.5])
    other_nan = np.array([0x7FC00001], np.uint32).view(np.float32)[0]
    assert tolerance.exact(np.array([0.0, -0.0, other_nan, np.inf, 1.5], F32), wanted).right
    judgement = tolerance.exact(np.array([-0.0, -0.0, 1.0, -np.inf, 1.5], F32), wanted)
    assert judgement.wrong.tolist() == [True, False, True, True, False]


def test_rounding_to_bfloat16_happens_once():
    tie_in_float32 = 1 + 2.0**-8 + 2.0**-30  # just above a tie of bfloat16, on it after float32
    assert float(tolerance.rounded(np.array([tie_in_float32]), BF16)[0]) == 1 + 2.0**-7
    values = np.random.default_rng(1).standard_normal(4096).astype(F32)
    assert np.array_equal(tolerance.rounded(values.astype(F64), BF16), values.astype(BF16))
    every = np.arange(65536, dtype=np.uint16).view(BF16)
    every = every[np.isfinite(every)]
    assert tolerance.same(tolerance.rounded(every.astype(F64), BF16), every).all()


def test_ulp_is_the_spacing_and_never_less_than_at_the_least_normal():
    assert tolerance.ulp(np.array([1.0, 2.0, 1.5, -4.0]), F32).tolist() == [2.0**-23, 2.0**-22, 2.0**-23, 2.0**-21]
    assert tolerance.ulp(np.array([0.0, 1e-300]), F32).tolist() == [2.0**-149] * 2
    assert tolerance.ulp(np.array([1.0]), F16)[0] == 2.0**-10
    assert tolerance.ulp(np.array([1.0]), BF16)[0] == 2.0**-7


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_ulp_limit_is_kept_on_both_sides(dtype):
    reference = np.linspace(1.0, 1.9, 24)
    y = tolerance.rounded(reference, dtype)
    far = (y.astype(F64) + 4 * tolerance.ulp(reference, dtype)).astype(dtype)
    assert tolerance.ulps(y, y.astype(F64), 2).right
    assert not tolerance.ulps(far, y.astype(F64), 2).right


def test_a_half_computed_in_float32_passes_and_one_computed_in_itself_does_not():
    x = np.linspace(-4, 4, 2001).astype(F16)
    reference = np.exp(x.astype(F64))
    narrow = np.exp((x * F16.type(0.5)).astype(F16)).astype(F16)
    assert tolerance.ulps(np.exp(x.astype(F32)).astype(F16), reference, 3).right
    assert not tolerance.ulps((narrow * narrow).astype(F16), reference, 3).right
    assert not tolerance.ulps(truncated(reference, F16), reference, 3).right


def test_saturation_is_not_taken_for_bias():
    x = np.linspace(3, 30, 500).astype(BF16)
    reference = np.tanh(x.astype(F64))
    assert tolerance.ulps(np.tanh(x.astype(F32)).astype(BF16), reference, 5).right


def test_infinities_and_nan_are_wanted_where_the_oracle_has_them():
    reference = np.array([np.inf, -np.inf, np.nan, 1.0])
    good = np.array([np.inf, -np.inf, np.nan, 1.0], F32)
    assert tolerance.ulps(good, reference, 2).right
    for i, bad in ((0, np.finfo(F32).max), (1, np.inf), (2, 0.0), (3, np.nan)):
        y = good.copy()
        y[i] = bad
        assert tolerance.ulps(y, reference, 2).wrong.tolist() == [i == j for j in range(4)]


def test_overflow_counts_as_the_next_power_of_two():
    just_above = np.array([65521.0])
    assert tolerance.ulps(np.array([np.inf], F16), just_above, 1).right
    assert tolerance.ulps(np.array([65504], F16), just_above, 1).right
    assert not tolerance.ulps(np.array([np.inf], F16), np.array([60000.0]), 1).right


def test_flushed_subnormals_pass_only_where_they_are_declared():
    reference, y = np.array([1e-40, 1e-3]), np.array([0.0, 1e-3], F32)
    assert not tolerance.exact(y, reference.astype(F32).astype(F64)).right
    assert tolerance.exact(y, reference.astype(F32).astype(F64), Arithmetic(flushes_subnormals=True)).right
    assert not tolerance.exact(np.zeros(2, F32), reference, Arithmetic(flushes_subnormals=True)).right


# -- composites ---------------------------------------------------------------------------------------------------


def softmax(x: np.ndarray) -> list[np.ndarray]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return [e / e.sum(-1, keepdims=True)]


def layer_norm(x: np.ndarray) -> list[np.ndarray]:
    centred = x - x.mean(-1, keepdims=True)
    return [centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)]


def one_pass_layer_norm(x: np.ndarray) -> list[np.ndarray]:
    mean = x.mean(-1, keepdims=True)
    variance = (x * x).mean(-1, keepdims=True) - mean * mean
    return [(x - mean) / np.sqrt(np.maximum(variance, 0) + x.dtype.type(1e-5))]


def judge_composite(oracle, x: np.ndarray, y: np.ndarray) -> tolerance.Judgement:
    [reference] = oracle(x.astype(F64))
    [error] = Witness(oracle, [x], seed=1).errors([reference], tolerance.working_dtype(y.dtype))
    return tolerance.composite(y, reference, error)


def inputs_of(op: str, dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(9)
    shift = 100.0 if op == "layer_norm" else 0.0
    return (rng.standard_normal((16, 65)) * 3 + shift).astype(dtype)


COMPOSITES = {"softmax": softmax, "layer_norm": layer_norm}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", COMPOSITES)
def test_a_composite_in_the_working_precision_passes(op, dtype):
    x = inputs_of(op, dtype)
    y = COMPOSITES[op](x.astype(tolerance.working_dtype(dtype)))[0].astype(dtype)
    judgement = judge_composite(COMPOSITES[op], x, y)
    assert judgement.right, (judgement.reason, judgement.measured)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", COMPOSITES)
def test_a_composite_in_less_than_the_working_precision_is_refused(op, dtype):
    x = inputs_of(op, dtype)
    narrow = {F64: F32, F32: F16}.get(dtype, dtype)
    y = COMPOSITES[op](x.astype(narrow))[0].astype(dtype)
    assert not judge_composite(COMPOSITES[op], x, y).right


@pytest.mark.parametrize("op", COMPOSITES)
def test_a_composite_that_truncates_its_output_is_refused(op):
    x = inputs_of(op, BF16)
    y = truncated(COMPOSITES[op](x.astype(F64))[0], BF16)
    assert not judge_composite(COMPOSITES[op], x, y).right


def test_variance_in_one_pass_is_refused():
    x = inputs_of("layer_norm", F32)
    assert not judge_composite(layer_norm, x, one_pass_layer_norm(x)[0]).right


def test_one_wrong_element_of_a_composite_is_refused():
    x = inputs_of("softmax", F32)
    y = softmax(x)[0]
    y[7, 11] *= np.float32(1 + 1e-5)
    judgement = judge_composite(softmax, x, y)
    assert np.argwhere(judgement.wrong).tolist() == [[7, 11]]
