"""Monte Carlo arithmetic: an array that makes a rounding error in each operation, at a precision of choice.

Run on such arrays, a formula written for float64 shows what the same formula may give in float32: each result is moved
by a random relative error of at most one unit roundoff, and so are the terms of each sum (Parker, 1997). What
cancels exactly in an oracle, but not in a kernel that contracts or reorders, is seen too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Operations whose results are exact in every precision.
EXACT = frozenset(
    (
        np.negative,
        np.positive,
        np.absolute,
        np.fabs,
        np.sign,
        np.maximum,
        np.minimum,
        np.fmax,
        np.fmin,
        np.floor,
        np.ceil,
        np.trunc,
        np.rint,
        np.copysign,
        np.conjugate,
    )
)

FINEST = 2.0**-50  # below this a roundoff is float64's own


class Noisy(np.ndarray):
    """A float64 array that rounds at random. What is computed from it is noisy too."""

    generator: np.random.Generator
    roundoff: float

    def __array_finalize__(self, parent: Any) -> None:
        self.generator = getattr(parent, "generator", None)
        self.roundoff = getattr(parent, "roundoff", 0.0)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        arguments = [_plain(x) for x in inputs]
        if method != "__call__" and ufunc not in EXACT:
            arguments[0] = self._rounded(arguments[0])
        result = getattr(ufunc, method)(*arguments, **{name: _plain(value) for name, value in options.items()})
        results = result if isinstance(result, tuple) else (result,)
        if ufunc not in EXACT:
            results = tuple(self._rounded(r) for r in results)
        if out is not None:
            for target, r in zip(out, results, strict=True):
                _plain(target)[...] = r
            results = out
        wrapped = tuple(self._like_self(r) for r in results)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        result = super().__array_function__(function, types, arguments, options)
        return self._like_self(result) if isinstance(result, np.ndarray) else result

    def _rounded(self, values: Any) -> Any:
        values = _real(values)
        if values.dtype.kind != "f":
            return values
        noise = self.generator.uniform(-1.0, 1.0, values.shape)
        if self.roundoff > FINEST:
            return values * (1.0 + self.roundoff * noise)
        # float64 cannot hold a fraction of its own ulp: one up, one down, or none.
        moved = np.nextafter(values, np.copysign(np.inf, noise))
        return np.where((np.abs(noise) > 1 / 3) & (values != 0) & np.isfinite(values), moved, values)

    def _like_self(self, values: Any) -> Any:
        values = _real(values)
        return _noisy(values, self.generator, self.roundoff) if values.dtype.kind == "f" else values


def noisy(values: np.ndarray, generator: np.random.Generator, roundoff: float) -> Noisy:
    """``values`` as float64, to be computed with as if each operation rounded to ``roundoff``."""
    return _noisy(values.astype(np.float64), generator, roundoff)


def _noisy(values: np.ndarray, generator: np.random.Generator, roundoff: float) -> Noisy:
    array = np.asarray(values).view(Noisy)
    array.generator, array.roundoff = generator, roundoff
    return array


def _real(values: Any) -> np.ndarray:
    """Python's numbers, which ufuncs made of Python functions return, as float64."""
    values = np.asarray(values)
    return values.astype(np.float64) if values.dtype == object else values


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Noisy) else x
