"""Operators and methods of Tensor that came with the ops of two and three inputs."""

from __future__ import annotations

import operator

import dougong as dg
import numpy as np
import pytest

A = np.array([7, -7, 5, 0, -128, 127], np.int8)
B = np.array([2, 2, 3, 3, 5, 5], np.int8)
INTEGER_OPERATORS = [
    operator.floordiv,
    operator.mod,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
]
IN_PLACE = [operator.ifloordiv, operator.imod, operator.iand, operator.ior, operator.ixor]
IN_PLACE += [operator.ilshift, operator.irshift]


@pytest.mark.parametrize("function", INTEGER_OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_integers_are_numpys(function):
    a, b = dg.tensor(A), dg.tensor(B)
    assert np.array_equal(function(a, b).numpy(), function(A, B))
    assert np.array_equal(function(a, 3).numpy(), function(A, np.int8(3)))
    assert np.array_equal(function(5, b).numpy(), function(np.int8(5), B))


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_operators_in_place_keep_the_object(function):
    a, wanted = dg.tensor(A), A.copy()
    wanted = function(wanted, B)
    assert function(a, dg.tensor(B)) is a
    assert np.array_equal(a.numpy(), wanted)


def test_operators_of_bools_are_logical():
    a, b = dg.tensor([True, True, False]), dg.tensor([True, False, False])
    assert (a & b).tolist() == [True, False, False]
    assert (a | False).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False]
    assert (~a).tolist() == [False, False, True]
    assert (~dg.tensor([0, 5])).tolist() == [-1, -6]


@pytest.mark.parametrize("function", INTEGER_OPERATORS[2:], ids=lambda f: f.__name__)
def test_floats_have_no_bits(function):
    with pytest.raises(TypeError):
        function(dg.tensor([1.0]), dg.tensor([2.0]))
    with pytest.raises(TypeError):
        ~dg.tensor([1.0])


def test_clamp_takes_numbers_and_tensors():
    x = dg.tensor([-2.0, 0.5, 3.0])
    assert x.clamp(0, 1).tolist() == [0.0, 0.5, 1.0]
    assert x.clamp(min=0).tolist() == [0.0, 0.5, 3.0]
    assert dg.clamp(x, max=dg.tensor([0.0, 0.0, 1.0])).tolist() == [-2.0, 0.0, 1.0]
    assert x.clamp_(-1, 1) is x and x.tolist() == [-1.0, 0.5, 1.0]


def test_division_by_zero_of_integers_gives_zero():
    x, zero = dg.tensor([5, -5]), dg.tensor([0, 0])
    assert (x // zero).tolist() == (x % zero).tolist() == dg.fmod(x, zero).tolist() == [0, 0]
