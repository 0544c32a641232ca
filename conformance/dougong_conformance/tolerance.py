"""How far from the oracle a kernel may be. The class of the op sets the bound, never the author of a kernel.

Class E, exact: the oracle's value rounded once, bit for bit. NaN equals NaN; the sign of zero counts.
Class U, one rounded function per element: |y - r| <= L ulp(r). A half-precision result is a float32 result rounded once
    more, so there L = 1. The oracle is in float64 itself; for a float64 result with L > 0.5 it is granted one ulp.
Class R, sums of products: with s = sum |a||b|, k = the length of the sum and u = the unit roundoff of the accumulator,
    rho = |y - r| / (ulp(r) / 2 + sqrt(k) u s) <= 1.5. sqrt(k) is the probabilistic bound of Higham and Mary (2019); the
    worst case, k u s, is for devices that declare DG_DEVICE_TRUNCATES_SUMS. Where the inputs are integers so small that
    every partial sum is exact, the result is exact whatever the order: class E. A float64 sum is judged against
    another float64 sum, so there both may err and the limit doubles.
Class C, composites: e = the error that a computation in the working precision (float32 for halves) must be expected to
    make here, from `Witness`. The tensor: the root mean square of |y - r| / (2 e + 2 ulp(r)) is at most 1/2. Each
    element: |y - r| <= 4 e + 2 ulp(r). For halves both have 1 ulp in place of 2. The first term forgives cancellation
    where it happens and only there; the mean keeps a kernel from living at the edge of the bound. For float64 results
    e doubles, as in class R.
Bias: errors that lean to one side mean truncation where rounding was due. |z| <= 6, where z is the mean of the errors,
    signed by the reference, over its standard error: in class R of the errors over their bound, for the halves of U
    and C of the difference to the value rounded to nearest, where the mean must also exceed 0.1 ulp.

ulp(r) is the spacing of the output's dtype at r, not less than that at its least normal number. Results beyond the
largest number count as the next power of two; an infinite reference wants exactly that infinity. A subnormal result
or input may be zero where the device declares DG_DEVICE_FLUSHES_SUBNORMALS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from .noise import noisy

RHO_LIMIT = 1.5
BIAS_LIMIT = 6.0
LEAN_LIMIT = 0.1  # ulp; fewer roundings that went the other way are no truncation
BIAS_COUNT = 30  # fewer errors than this have no distribution to speak of
RMS_LIMIT = 0.5
RMS_COUNT = 16
WITNESSES = 16

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


@dataclass(frozen=True)
class Arithmetic:
    """What the device declares about its numbers."""

    flushes_subnormals: bool = False
    truncates_sums: bool = False


IEEE = Arithmetic()


@dataclass
class Judgement:
    """``wrong`` marks the elements out of bounds. ``reason`` is empty if the result is right, else one sentence."""

    wrong: np.ndarray
    reason: str = ""
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        return not self.reason


# -- numbers -------------------------------------------------------------------------------------------------------


def is_float(dtype: np.dtype) -> bool:
    return np.dtype(dtype).kind == "f" or np.dtype(dtype) in HALVES


def unit_roundoff(dtype: np.dtype) -> float:
    """Of the accumulator and working precision for results of this dtype: float32 but for float64."""
    return 2.0**-53 if np.dtype(dtype) == np.float64 else 2.0**-24


def working_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64 if np.dtype(dtype) == np.float64 else np.float32)


def ulp(reference: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The spacing of ``dtype`` at each value, not less than at the least normal number."""
    info = ml_dtypes.finfo(dtype)
    magnitude = np.clip(np.abs(reference), float(info.smallest_normal), float(info.max))
    magnitude = np.where(np.isnan(magnitude), float(info.max), magnitude)
    return np.ldexp(1.0, np.frexp(magnitude)[1] - 1 - info.nmant)


def rounded(reference: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``reference`` rounded once, to nearest even, to ``dtype``."""
    reference, dtype = np.asarray(reference), np.dtype(dtype)
    if dtype == np.bool_:
        return bits(reference.astype(np.bool_)) != 0  # any byte but 0 is true, and true is 1
    with np.errstate(all="ignore"):
        if dtype == np.dtype(ml_dtypes.bfloat16) and reference.dtype == np.float64:
            return _to_odd_float32(reference).astype(dtype)
        return reference.astype(dtype)


def _to_odd_float32(x: np.ndarray) -> np.ndarray:
    """float64 to float32 so that a second rounding, to fewer bits, ends where a single one would."""
    near = x.astype(np.float32)
    toward_zero = np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    toward_zero = toward_zero.astype(np.float32)
    bits = np.atleast_1d(toward_zero).view(np.uint32).reshape(toward_zero.shape)
    inexact = np.isfinite(x) & (toward_zero.astype(np.float64) != x)
    return np.atleast_1d(bits | inexact.astype(np.uint32)).view(np.float32).reshape(x.shape)


def bits(array: np.ndarray) -> np.ndarray:
    """The elements as unsigned integers."""
    array = np.asarray(array)
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def same(y: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Element by element: the same bits, or both NaN."""
    equal = bits(y) == bits(expected)
    return equal | (np.isnan(y) & np.isnan(expected)) if is_float(y.dtype) else equal


# -- judgement -----------------------------------------------------------------------------------------------------


def exact(
    y: np.ndarray, reference: np.ndarray, arithmetic: Arithmetic = IEEE, *, either_zero: bool = False
) -> Judgement:
    expected = rounded(reference, y.dtype)
    wrong = ~same(y, expected) & ~_flushed(y, reference, arithmetic)
    if either_zero:
        wrong &= (y != 0) | (expected != 0)
    return _judged(wrong, "differ from the exact result")


def ulps(y: np.ndarray, reference: np.ndarray, limit: float, arithmetic: Arithmetic = IEEE) -> Judgement:
    limit = 1.0 if y.dtype in HALVES else limit
    if y.dtype == np.float64 and limit > 0.5:
        limit += 1.0
    error = distance(y, reference) / ulp(reference, y.dtype)
    judgement = _judged(_outside(error, limit, y, reference, arithmetic), f"are more than {limit:g} ulp off")
    judgement.measured["ulp"] = _largest(error)
    return _unbiased(judgement, _rounding_bias(y, reference)) if y.dtype in HALVES else judgement


def reduction(
    y: np.ndarray, reference: np.ndarray, s: np.ndarray, k: np.ndarray, arithmetic: Arithmetic = IEEE
) -> Judgement:
    u = unit_roundoff(y.dtype)
    length = np.maximum(np.asarray(k, np.float64), 1.0)
    growth = length if arithmetic.truncates_sums else np.sqrt(length)
    bound = 0.5 * ulp(reference, y.dtype) + growth * u * np.asarray(s, np.float64)
    limit = 2 * RHO_LIMIT if y.dtype == np.float64 else RHO_LIMIT
    with np.errstate(all="ignore"):
        error = distance(y, reference)
        rho = np.where(error == 0, 0.0, error / bound)
        z = bias(_distinct(np.sign(reference) * (y.astype(np.float64) - reference) / bound, reference))
    text = f"are further off than {limit:g} (ulp/2 + {'k' if arithmetic.truncates_sums else 'sqrt(k)'} u sum|ab|)"
    judgement = _judged(_outside(rho, limit, y, reference, arithmetic), text)
    judgement.measured["rho"] = _largest(rho)
    return judgement if arithmetic.truncates_sums else _unbiased(judgement, z)


def composite(
    y: np.ndarray, reference: np.ndarray, expected_error: np.ndarray, arithmetic: Arithmetic = IEEE
) -> Judgement:
    spacing = ulp(reference, y.dtype)
    floor = spacing if y.dtype in HALVES else 2 * spacing
    expected_error = _pooled(expected_error, spacing) * (2 if y.dtype == np.float64 else 1)
    error = distance(y, reference)
    outside = _outside(error / (4 * expected_error + floor), 1.0, y, reference, arithmetic)
    judgement = _judged(outside, "are further off than the working precision allows")
    rms = _root_mean_square(error / (2 * expected_error + floor))
    judgement.measured |= {"rms": rms, "ulp": _largest(error / spacing)}
    if judgement.right and error.size >= RMS_COUNT and rms > RMS_LIMIT:
        judgement.reason = f"the root mean square of the errors is {rms:.2f} of the limit, wanted at most {RMS_LIMIT}"
    return _unbiased(judgement, _rounding_bias(y, reference)) if y.dtype in HALVES else judgement


class Witness:
    """The error that a computation in the working precision must be expected to make, element by element.

    The oracle is run sixteen times in Monte Carlo arithmetic (`noise.py`): each of its operations rounds at random, to
    the working precision. The largest error among these runs is the expected one, so no element is held to the luck of
    one computation. It is large where a result is cancelled away, and only there.
    """

    def __init__(self, oracle: Callable[..., Sequence[np.ndarray]], inputs: Sequence[np.ndarray | None], seed: int):
        self.oracle = oracle
        self.inputs = inputs
        self.seed = seed

    def errors(self, references: Sequence[np.ndarray], working: np.dtype) -> list[np.ndarray]:
        generator = np.random.default_rng(self.seed)
        errors = [np.zeros(np.shape(r)) for r in references]
        for _ in range(WITNESSES):
            computed = self.oracle(*[_noisy(x, working, generator) for x in self.inputs])
            for error, r, c in zip(errors, references, computed, strict=True):
                with np.errstate(all="ignore"):
                    change = np.abs(np.asarray(c, np.float64) - np.asarray(r, np.float64))
                np.maximum(error, np.where(np.isfinite(change), change, 0.0), out=error)
        return errors


def _noisy(x: np.ndarray | None, working: np.dtype, generator: np.random.Generator) -> np.ndarray | None:
    return noisy(x, generator, unit_roundoff(working)) if x is not None and is_float(x.dtype) else x


def sums_are_exact(inputs: Sequence[np.ndarray | None], s: np.ndarray, dtype: np.dtype) -> bool:
    """Whether each partial sum of integers like these fits the accumulator's mantissa, so that no order rounds."""
    whole = all(x is None or bool(np.all(x.astype(np.float64) % 1 == 0)) for x in inputs)
    return whole and bool(np.all(np.asarray(s) <= 1.0 / unit_roundoff(dtype)))


# -- parts ---------------------------------------------------------------------------------------------------------


def distance(y: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|y - r|: 0 for NaN beside NaN, infinite where only one is NaN, or an infinity was wanted and is not there."""
    value, wanted = y.astype(np.float64), np.asarray(reference, np.float64)
    top = 2.0 ** np.ceil(np.log2(float(ml_dtypes.finfo(y.dtype).max))) if y.dtype != np.float64 else np.inf
    with np.errstate(all="ignore"):
        gap = np.abs(np.clip(value, -top, top) - np.clip(wanted, -top, top))
    gap = np.where(value == wanted, 0.0, gap)
    gap = np.where(np.isinf(wanted) & (value != wanted), np.inf, gap)
    either, both = np.isnan(value) | np.isnan(wanted), np.isnan(value) & np.isnan(wanted)
    return np.where(both, 0.0, np.where(either, np.inf, gap))


def bias(errors: np.ndarray) -> float:
    """The mean over its standard error; 0 where there are too few errors to tell."""
    errors = errors[np.isfinite(errors)].ravel()
    if errors.size < BIAS_COUNT:
        return 0.0
    spread = float(np.std(errors, ddof=1)) / np.sqrt(errors.size)
    mean = float(np.mean(errors))
    return mean / spread if spread > 0 else (0.0 if mean == 0 else np.copysign(np.inf, mean))


def _rounding_bias(y: np.ndarray, reference: np.ndarray) -> float:
    """Against the value rounded to nearest: a result that saturates leans to one side without being truncated."""
    with np.errstate(all="ignore"):
        difference = y.astype(np.float64) - rounded(reference, y.dtype).astype(np.float64)
        lean = np.sign(reference) * difference / ulp(reference, y.dtype)
    lean = _distinct(lean, reference)
    lean = lean[np.isfinite(lean)]
    return bias(lean) if lean.size and abs(np.mean(lean)) > LEAN_LIMIT else 0.0


def _pooled(expected_error: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """At least the tensor's median error in ulp: no element is held to the luck of all its witnesses."""
    typical = np.median(expected_error / spacing) if np.size(expected_error) else 0.0
    return np.maximum(expected_error, typical * spacing)


def _distinct(errors: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """One error for each value of the reference: a value that comes twice errs the same way twice."""
    return errors.ravel()[np.unique(reference, return_index=True)[1]]


def _outside(
    error: np.ndarray, limit: float, y: np.ndarray, reference: np.ndarray, arithmetic: Arithmetic
) -> np.ndarray:
    return ~(error <= limit) & ~_flushed(y, reference, arithmetic)


def _flushed(y: np.ndarray, reference: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Where a zero stands for a subnormal number and may."""
    if not (arithmetic.flushes_subnormals and is_float(y.dtype)):
        return np.zeros(np.shape(y), bool)
    return (y == 0) & (np.abs(reference) < float(ml_dtypes.finfo(y.dtype).smallest_normal))


def _judged(wrong: np.ndarray, text: str) -> Judgement:
    wrong = np.asarray(wrong)
    count = int(np.count_nonzero(wrong))
    return Judgement(wrong, f"{count} of {wrong.size} elements {text}" if count else "")


def _unbiased(judgement: Judgement, z: float) -> Judgement:
    judgement.measured["z"] = z
    if judgement.right and abs(z) > BIAS_LIMIT:
        side = "away from" if z > 0 else "toward"
        judgement.reason = (
            f"the errors lean {side} zero (z = {z:.1f}, wanted |z| <= {BIAS_LIMIT:g}): truncation instead of rounding "
            "to nearest even?"
        )
    return judgement


def _root_mean_square(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _largest(values: np.ndarray) -> float:
    return float(np.max(values)) if np.size(values) else 0.0
