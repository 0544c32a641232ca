"""Monte Carlo arithmetic errs in every operation that rounds, by no more than its roundoff, and in no other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dougong_conformance.noise import Noisy, noisy

U32, U64 = 2.0**-24, 2.0**-53
VALUES = np.linspace(0.5, 3.0, 400)


def some(roundoff: float) -> Noisy:
    return noisy(VALUES, np.random.default_rng(1), roundoff)


@pytest.mark.parametrize("roundoff", [U32, U64])
def test_each_rounding_operation_errs_by_at_most_its_roundoff(roundoff):
    product = some(roundoff) * 3.0
    error = np.abs(np.asarray(product) / (VALUES * 3.0) - 1)
    assert 0 < error.max() <= 2.5 * roundoff
    assert np.count_nonzero(error) > 100


def test_exact_operations_stay_exact():
    x = some(U32)
    for function in (np.negative, np.abs, np.sign, np.floor):
        assert np.array_equal(np.asarray(function(x)), function(VALUES))
    assert np.array_equal(np.asarray(np.maximum(x, 1.0)), np.maximum(VALUES, 1.0))
    assert np.array_equal(x > 1.0, VALUES > 1.0)


def test_the_terms_of_a_sum_err_one_by_one():
    sums = [float(np.sum(noisy(VALUES, np.random.default_rng(i), U32))) for i in range(50)]
    spread = np.std(sums)
    assert 0.3 * U32 * VALUES.sum() / math.sqrt(400) < spread < 2 * U32 * VALUES.sum()


def test_noise_goes_through_functions_views_and_scalars():
    x = some(U32)
    for result in (
        np.where(x > 1, x, 0.0),
        x.reshape(20, 20),
        np.broadcast_to(x, (2, 400)),
        np.exp(x),
        x[3] * x,
        x.mean(),
    ):
        assert isinstance(result, Noisy)
    zero_d = noisy(np.array(2.0), np.random.default_rng(0), U32)
    assert isinstance(zero_d * 2.0 + 1.0, Noisy)


def test_what_cancels_exactly_in_an_oracle_is_seen_to_err():
    x = some(U32)
    difference = np.abs(np.asarray(x * 1.5 - np.mean(x[:, None] * 1.5, axis=1)))
    assert np.median(difference) > 0.1 * U32


def test_special_values_stay_what_they_are():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    for roundoff in (U32, U64):
        once = np.asarray(noisy(special, np.random.default_rng(0), roundoff) * 1.0)
        assert np.array_equal(once, special, equal_nan=True)
        assert np.array_equal(np.signbit(once[:4]), np.signbit(special[:4]))
