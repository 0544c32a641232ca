"""Values that meet: zeros of both signs, ties, and the places that functions change at."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

PLACES = (0.0, 1.0, -1.0, -0.0, 2.0, 0.5, -0.5, 3.0, -3.0)
TIED = (0.0, 1.0, -1.0, 2.0)
POINTS = 128  # of an elementwise op, at most

Arrays = list[np.ndarray | None]


def elementwise(drawn: Sequence[np.ndarray | None], attributes: dict[str, Any], seed: int) -> Arrays:
    """Every combination of the places, one for each element; more than two inputs are never all equal."""
    floats = [i for i, x in enumerate(drawn) if x is not None and x.dtype.kind == "f"]
    places = _places(attributes)
    count = int(POINTS ** (1 / max(len(floats), 1)) + 1e-9)
    chosen = list(itertools.product(places[:count], repeat=len(floats)))
    if len(floats) > 2:
        chosen = [point for point in chosen if len(set(point)) > 1]
    columns = dict(zip(floats, np.array(chosen, np.float64).T, strict=True))
    rng = np.random.default_rng(seed)
    return [_column(x, columns.get(i), len(chosen), rng) for i, x in enumerate(drawn)]


def _places(attributes: dict[str, Any]) -> list[float]:
    """The op's own numbers come first: they are few, and what the op turns at."""
    own = [float(np.float32(a)) for a in attributes.values() if isinstance(a, float) and 1e-2 < abs(a) < 10]
    return list(dict.fromkeys([0.0, *own, *(-a for a in own), *PLACES])) if own else list(PLACES)


def _column(x: np.ndarray | None, column: np.ndarray | None, count: int, rng: np.random.Generator) -> Any:
    if x is None or column is not None:
        return column
    return rng.integers(0, 2, count).astype(x.dtype)


def tied(drawn: Sequence[np.ndarray | None], seed: int, limits: Sequence[tuple[float, float]]) -> Arrays:
    """The shapes as they are; the floats from four numbers, or from five within an input's limits."""
    rng = np.random.default_rng(seed)
    return [
        x if x is None or x.dtype.kind != "f" else rng.choice(_within(*limit), x.shape)
        for x, limit in zip(drawn, limits, strict=True)
    ]


def _within(low: float, high: float) -> np.ndarray:
    if (low, high) == (-np.inf, np.inf):
        return np.array(TIED)
    return np.linspace(max(low, -3), min(high, 3), 7)[1:-1].astype(np.float32).astype(np.float64)
