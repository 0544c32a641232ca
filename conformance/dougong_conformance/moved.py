"""The error to be expected of a computation that the judge cannot look into, such as a gradient by the runtime.

Where the oracle is a formula in NumPy, `tolerance.Witness` runs it in Monte Carlo arithmetic. Here the computation
itself is run in float32, sixteen times, with each float input moved by one ulp up or down at random. The largest
distance from the float64 result is the error to be expected of float32, element by element, for
`tolerance.composite`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import tolerance


def expected_errors(
    function: Callable[..., Sequence[np.ndarray]],
    inputs: Sequence[np.ndarray | None],
    references: Sequence[np.ndarray],
    seed: int,
) -> list[np.ndarray]:
    """``function`` computes in the dtype of its inputs, which are float32 where they are floats."""
    generator = np.random.default_rng(seed)
    errors = [np.zeros(np.shape(reference)) for reference in references]
    for _ in range(tolerance.WITNESSES):
        computed = function(*[_moved(x, generator) for x in inputs])
        for error, reference, found in zip(errors, references, computed, strict=True):
            with np.errstate(all="ignore"):
                change = np.abs(np.asarray(found, np.float64) - np.asarray(reference, np.float64))
            np.maximum(error, np.where(np.isfinite(change), change, 0.0), out=error)
    return errors


def _moved(x: np.ndarray | None, generator: np.random.Generator) -> np.ndarray | None:
    if x is None or not tolerance.is_float(x.dtype):
        return x
    infinity = x.dtype.type(np.inf)
    with np.errstate(all="ignore"):
        moved = np.nextafter(x, generator.choice([-infinity, infinity], size=x.shape))
    return np.where(np.isfinite(x) & np.isfinite(moved) & (x != 0), moved, x)
