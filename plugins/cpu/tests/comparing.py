"""How the tests compare: layouts of one array, bits, units in the last place, and the bound of reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cpu_driver import DTYPES, Cpu, poisoned

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]
NUMBERS = FLOATS + INTEGERS
ALL = [*NUMBERS, "bool"]
DIGITS = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}
LEAST = {"float32": -126, "float64": -1022, "float16": -14, "bfloat16": -126}  # exponent of the least normal number


def name_of(dtype: Any) -> str:
    return np.dtype(dtype).name


def draw(shape: tuple[int, ...], dtype: str, seed: int = 0, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    """Distinct-looking values; bools include bytes other than 0 and 1."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return rng.choice(np.array([0, 1, 2, 255], np.uint8), shape).view(np.bool_)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(DTYPES[dtype][0])


def truth(x: np.ndarray) -> np.ndarray:
    """A bool array as 0 and 1: any byte but zero is true."""
    return x.view(np.uint8) != 0 if x.dtype == np.bool_ else x


def layouts(x: np.ndarray) -> Iterator[np.ndarray]:
    """Views with the values of x: dense, column-major, every second element, reversed."""
    yield x
    if x.ndim == 0 or x.size == 0:
        return
    if x.ndim > 1:
        turned = np.empty(x.shape[::-1], x.dtype).T
        turned[...] = x
        yield turned
    wide = np.repeat(x, 2, axis=-1)[..., ::2]
    assert wide.strides[-1] == 2 * x.itemsize
    yield wide
    yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]


class Target:
    """An output in some layout within poisoned memory, whose gaps must stay as they are."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, layout: str) -> None:
        self.shape = shape
        if layout == "dense" or not shape:
            self.memory = poisoned(shape, dtype)
            self.view = self.memory
        elif layout == "transposed":
            self.memory = poisoned(shape[::-1], dtype)
            self.view = self.memory.T
        else:
            self.memory = poisoned((*shape[:-1], 2 * shape[-1] + 1), dtype)
            self.view = self.memory[..., 1::2]

    def gaps_untouched(self) -> bool:
        if self.memory.shape == self.view.shape or self.memory.T.shape == self.view.shape:
            return True
        return bool((self.memory[..., ::2].copy().view(np.uint8) == 0xFF).all())


TARGETS = ["dense", "transposed", "strided"]


def run_layouts(cpu: Cpu, op: str, inputs: list, outputs: list, check: Callable[..., None], **attributes: Any) -> None:
    """Runs with every input in every layout, and outputs in several, and hands the results to `check`."""
    variants = [list(layouts(x)) if x is not None else [None] for x in inputs]
    for i in range(max((len(v) for v in variants), default=1)):
        chosen = [v[min((i + j) % max(len(v), 1), len(v) - 1)] for j, v in enumerate(variants)]
        for layout in TARGETS:
            targets = [Target(shape, dtype, layout) for shape, dtype in outputs]
            cpu(op, chosen, [t.view for t in targets], **attributes)
            assert all(t.gaps_untouched() for t in targets), f"{op} wrote between the elements of its output"
            check(*[t.view for t in targets])


def same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal values; NaN equals NaN, zeros may differ in sign."""
    found = np.asarray(found).view(np.uint8) if found.dtype == np.bool_ else np.asarray(found)
    expected = np.asarray(expected).astype(np.uint8) if expected.dtype == np.bool_ else np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(wide(found), wide(expected))


def wide(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "biu" else x.astype(np.float64)


def spacing(reference: np.ndarray, dtype: str) -> np.ndarray:
    """One unit in the last place of each value, in float64."""
    _, exponent = np.frexp(np.abs(np.where(np.isfinite(reference), reference, 1.0)))
    return np.ldexp(1.0, np.maximum(exponent - 1, LEAST[dtype]) - DIGITS[dtype] + 1)


def within_ulp(found: np.ndarray, reference: np.ndarray, limit: float) -> None:
    """Within `limit` units in the last place of the float64 reference; infinities and NaN where it rounds to them."""
    dtype = name_of(found.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = reference.astype(found.dtype)
        error = np.abs(wide(found) - reference) / spacing(reference, dtype)
    same = (wide(found) == wide(rounded)) | (np.isnan(wide(found)) & np.isnan(reference))
    worst = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    assert worst.size == 0 or worst.max() <= limit, (
        f"{worst.max():.3g} ulp at {np.unravel_index(worst.argmax(), worst.shape)}: "
        f"found {wide(found).ravel()[worst.argmax()]!r}, expected {reference.ravel()[worst.argmax()]!r}"
    )


def within_reduction_bound(found: np.ndarray, reference: np.ndarray, absolute: np.ndarray, count: int) -> None:
    """|error| <= 1.5 (ulp / 2 + sqrt(count) u sum |terms|), u of the accumulator: float64 for float64, else float32."""
    dtype = name_of(found.dtype)
    unit = 2.0**-53 if dtype == "float64" else 2.0**-24
    bound = 0.5 * spacing(reference, dtype) + np.sqrt(max(count, 1)) * unit * absolute
    ratio = np.abs(wide(found) - reference) / bound
    assert ratio.size == 0 or ratio.max() <= 1.5, f"{ratio.max():.3g} times the bound"
