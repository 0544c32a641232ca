"""The error to be expected of a computation that the judge cannot look into, such as a gradient by the runtime.

Where the oracle is a formula in NumPy, `tolerance.Witness` runs it in Monte Carlo arithmetic. Here the computation
itself is run in float32, sixteen times, with each float input moved by one ulp up or down at random. The largest
distance from the float64 result is the error to be expected of float32, element by element, for
`tolerance.composite`.

Where inputs meet, moving them apart would tell of the other side of a kink and not of rounding. Those that are said to
meet move together where their magnitudes are equal, and a run that crossed a kink even so is left out where it did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import tolerance

CROSSED = 1e-3  # of the greatest element, or of 1: more than rounding of float32 does to numbers of moderate size


def expected_errors(
    function: Callable[..., Sequence[np.ndarray]],
    inputs: Sequence[np.ndarray | None],
    references: Sequence[np.ndarray],
    seed: int,
    meeting: int = 0,
) -> list[np.ndarray]:
    """``function`` computes in the dtype of its inputs, which are float32 where they are floats.

    The first ``meeting`` of them meet.
    """
    generator = np.random.default_rng(seed)
    errors = [np.zeros(np.shape(reference)) for reference in references]
    for _ in range(tolerance.WITNESSES):
        apart = [_moved(x, generator) for x in inputs[meeting:]]
        computed = function(*_together(inputs[:meeting], generator), *apart)
        for error, reference, found in zip(errors, references, computed, strict=True):
            with np.errstate(all="ignore"):
                change = np.abs(np.asarray(found, np.float64) - np.asarray(reference, np.float64))
                greatest = np.max(np.abs(reference), initial=1.0, where=np.isfinite(reference))
                crossed = (meeting > 0) & (change > CROSSED * greatest)
            np.maximum(error, np.where(np.isfinite(change) & ~crossed, change, 0.0), out=error)
    return errors


def _together(inputs: Sequence[np.ndarray | None], generator: np.random.Generator) -> list[np.ndarray | None]:
    """Each magnitude away from zero or towards it, wherever it stands."""
    floats = [np.abs(x).ravel() for x in inputs if x is not None and tolerance.is_float(x.dtype)]
    sizes = np.unique(np.concatenate([np.zeros(0), *floats]))
    ends = generator.choice([0.0, np.inf], size=sizes.size)
    return [
        x if x is None or not tolerance.is_float(x.dtype) else _towards(x, ends[np.searchsorted(sizes, np.abs(x))])
        for x in inputs
    ]


def _towards(x: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The next number nearer to zero or to infinity; zeros stay."""
    return np.where(x != 0, np.nextafter(x, np.copysign(end, x).astype(x.dtype)), x)


def _moved(x: np.ndarray | None, generator: np.random.Generator) -> np.ndarray | None:
    if x is None or not tolerance.is_float(x.dtype):
        return x
    infinity = x.dtype.type(np.inf)
    with np.errstate(all="ignore"):
        moved = np.nextafter(x, generator.choice([-infinity, infinity], size=x.shape))
    return np.where(np.isfinite(x) & np.isfinite(moved) & (x != 0), moved, x)
