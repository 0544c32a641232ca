"""Gradients at ties, kinks and zeros: where a derivative may not exist, what a gradient may be all the same.

The values come from a few numbers that functions change at - zeros of both signs, ones, halves, the numbers among the
op's own attributes - so that values are equal to each other and lie on kinks. Of an elementwise op each combination of
them is a point. There a gradient is held, in float64 on the host, against differences of the oracle on both sides:

- Along a direction where the two sides agree it is the derivative, whatever happens in others. All that is equal also
  moves together, so that what ties share must sum up to the whole.
- Else it lies between the least and the greatest slope, output by output, of the smooth pieces that meet at the point.

Where the oracle jumps, ends or is vertical nothing is claimed. Which value between two slopes a kink has is a
convention: `kinks.yaml` states it, and `has_kink` tells for which ops it must.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .gradients import Gradients, input_name
from .points import Arrays

STEP = 1e-3
NEAR = 1e-5  # how far from a corner the pieces that meet there are looked at, and the step for their slopes
NEAR_STEP = 1e-7
NEIGHBOURS = 24
STEEP = 1e3  # a slope so near a corner that is no slope: the function jumps there
COORDINATES = 2  # of an input of an op that is not elementwise
SETTLED = 1e-4  # how far apart, relative, two estimates of a slope with step and half a step may be
LIMIT = 1e-8
HULL_LIMIT = 1e-2  # of curvature within NEAR of the point


# -- slopes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slopes:
    """Of each output, along one direction: on both sides of the point, and of the pieces that meet there."""

    left: np.ndarray
    right: np.ndarray
    uncertain: np.ndarray  # the error of left and right
    least: np.ndarray
    greatest: np.ndarray
    known: np.ndarray  # where all of them are numbers that have settled


def slopes(function: Callable[[Arrays], np.ndarray], point: Arrays, direction: Arrays, seed: int) -> Slopes:
    """``function`` gives all outputs as one array."""
    with np.errstate(all="ignore"):
        sides = [_one_sided(function, point, direction, length) for length in (STEP, STEP / 2, -STEP, -STEP / 2)]
        right, left = sides[1], -sides[3]
        uncertain = np.maximum(abs(sides[0] - sides[1]), abs(sides[2] - sides[3]))
        near = _near(function, point, direction, seed)
        least, greatest = near.min(0), near.max(0)
        settled = uncertain <= SETTLED * (1 + np.maximum(abs(left), abs(right)))
        known = settled & (np.maximum(-least, greatest) <= STEEP) & np.isfinite(function(point))
    return Slopes(left, right, uncertain, least, greatest, known)


@functools.cache
def _weights() -> np.ndarray:
    """Of the values at 1, 2, 3, 4 and 5 steps, for the derivative at 0: exact for polynomials of degree four."""
    powers = np.vander(np.arange(1.0, 6.0), increasing=True).T
    return np.linalg.solve(powers, np.array([0.0, 1.0, 0.0, 0.0, 0.0]))


def _one_sided(function: Callable[[Arrays], np.ndarray], point: Arrays, direction: Arrays, length: float) -> np.ndarray:
    """The derivative by differences of fourth order, from values on one side of the point only."""
    terms = [w * function(moved(point, direction, k * length)) for k, w in enumerate(_weights(), 1)]
    return np.sum(terms, 0) / abs(length)


def _near(function: Callable[[Arrays], np.ndarray], point: Arrays, direction: Arrays, seed: int) -> np.ndarray:
    """Slopes along the direction at points nearby, where ties are broken: what moves is above all, below, or amid."""
    rng, found = np.random.default_rng(seed), []
    for i in range(NEIGHBOURS):
        away = [None if x is None else rng.uniform(-1, 1, x.shape) for x in direction]
        away = [a if a is None else a + (i % 3 - 1) * 1.5 * np.sign(d) for a, d in zip(away, direction, strict=True)]
        base = moved(point, away, NEAR)
        ends = [function(moved(base, direction, sign * NEAR_STEP)) for sign in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * NEAR_STEP))
    return np.array(found)


def moved(point: Arrays, direction: Arrays, length: float) -> Arrays:
    return [x if d is None else x + length * d for x, d in zip(point, direction, strict=True)]


# -- directions ----------------------------------------------------------------------------------------------------


def directions(point: Arrays, wanted: Sequence[int], whole: bool, seed: int) -> Iterator[tuple[int | None, Arrays]]:
    """Some directions, each with the only input that moves in it, or None where all do.

    ``whole``: each element is a point of its own, so that an input moves in all of them at once.
    """
    for i in wanted:
        if whole:
            yield i, _only(point, i, np.ones(point[i].shape))
            continue
        places = np.random.default_rng(seed + i).permutation(point[i].size)[:COORDINATES]
        for place in places:
            step = np.zeros(point[i].size)
            step[place] = 1.0
            yield i, _only(point, i, step.reshape(point[i].shape))
    for zeros in (True, False):
        yield None, _together(point, wanted, zeros, seed)


def still(direction: Arrays) -> np.ndarray:
    """Where nothing moves at all."""
    return np.logical_and.reduce([d.ravel() == 0 for d in direction if d is not None])


def _only(point: Arrays, i: int, step: np.ndarray) -> Arrays:
    return [step if j == i else None for j in range(len(point))]


def _together(point: Arrays, wanted: Sequence[int], zeros: bool, seed: int) -> Arrays:
    """Equal values move alike, in all inputs; opposite ones oppositely; zeros only if told to."""
    sizes = np.unique(np.abs(np.concatenate([point[i].ravel() for i in wanted])))
    steps = np.random.default_rng(seed).uniform(0.5, 1.0, sizes.size) * (-1.0) ** np.arange(sizes.size)
    found: Arrays = [None] * len(point)
    for i in wanted:
        step = steps[np.searchsorted(sizes, np.abs(point[i]))]
        found[i] = np.where(point[i] == 0, step if zeros else 0.0, np.sign(point[i]) * step)
    return found


# -- judgement -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """Where the derivative of the outputs, times their weights, may lie; element by element where each is a point."""

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    kink: np.ndarray  # where the sides disagree


def bounds(found: Slopes, weights: np.ndarray, still: np.ndarray | None) -> Bounds:
    """``still``: the points that nothing moves at, where each element is a point of its own; else None."""
    scale = abs(weights) * np.maximum(abs(found.left), abs(found.right))
    agree = abs(found.left - found.right) <= 10 * found.uncertain + LIMIT * (1 + scale)
    smooth = agree & (found.greatest - found.least <= HULL_LIMIT * (1 + abs(found.left)))
    slack = np.where(smooth, 10 * found.uncertain + LIMIT * (1 + scale), HULL_LIMIT * (1 + scale))
    low = np.where(smooth, np.minimum(found.left, found.right), found.least) - slack
    high = np.where(smooth, np.maximum(found.left, found.right), found.greatest) + slack
    ends = np.sort(np.stack([weights * low, weights * high]), 0)
    if still is not None:
        known = found.known & ~still
        return Bounds(ends[0], ends[1], known, known & ~smooth)
    total = np.sum(ends, 1)
    return Bounds(total[0], total[1], np.all(found.known), np.any(~smooth & found.known))


@dataclass(frozen=True)
class Found:
    """A derivative at corners, and where it may lie. ``input``: what moves, or "all" inputs."""

    input: str
    derivative: np.ndarray
    bounds: Bounds

    @property
    def wrong(self) -> np.ndarray:
        inside = (self.derivative >= self.bounds.low) & (self.derivative <= self.bounds.high)
        return np.atleast_1d(self.bounds.known & ~inside)

    def sentence(self, place: int) -> str:
        found, low, high = (np.atleast_1d(x)[place] for x in (self.derivative, self.bounds.low, self.bounds.high))
        what = "in which all inputs move" if self.input == "all" else f"for {self.input}"
        return (
            f"the derivative {what} is {float(found)!r} by the gradient, and differences of the oracle have it "
            f"between {float(low)!r} and {float(high)!r}"
        )


def at_corners(gradients: Gradients) -> Iterator[Found]:
    """The host's float64 gradient along some directions. Of an elementwise op all points are asked at once."""
    op, inputs, whole = gradients.op, list(gradients.inputs), gradients.op.elementwise
    starts = gradients.directions(np.float64)
    found = gradients.by_runtime("cpu:0", inputs, starts)
    weights = np.concatenate([v.ravel() for v in starts])

    def outputs(point: Arrays) -> np.ndarray:
        return np.concatenate([y.ravel() for y in gradients.outputs(*point)])

    for moving, direction in directions(inputs, gradients.wanted, whole, gradients.subject.seed):
        sides = slopes(outputs, inputs, direction, gradients.subject.seed)
        limits = bounds(sides, weights, still(direction) if whole else None)
        derivative = _along([direction[i] for i in gradients.wanted], found, whole)
        yield Found("all" if moving is None else input_name(op, moving), derivative, limits)


def _along(direction: Arrays, found: Sequence[np.ndarray], whole: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        terms = [(g * d).ravel() for g, d in zip(found, direction, strict=True) if d is not None]
        return np.sum(terms, 0) if whole else np.array(sum(map(np.sum, terms)))
