"""Functions that move, choose and place elements: NumPy's results, and gradients that find back."""

from __future__ import annotations

import dougong as dg
import numpy as np
import pytest

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(found: dg.Tensor, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    assert np.array_equal(found.numpy(), wanted)


@pytest.mark.parametrize(("shift", "axis"), [(1, 0), (-1, 2), (5, 1), ((1, -2), (0, 2)), (7, None), (0, 0)])
def test_roll(shift, axis):
    same(dg.roll(dg.tensor(X), shift, axis), np.roll(X, shift, axis))
    same(dg.roll(dg.zeros((0, 3)), 2, 0), np.zeros((0, 3)))


def test_roll_wants_a_shift_for_each_axis():
    with pytest.raises(dg.InvalidArgumentError, match="2 shifts for 1 axes"):
        dg.roll(dg.tensor(X), (1, 2), (0,))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repeat(axis):
    same(dg.repeat(dg.tensor(X), 3, axis), np.repeat(X, 3, axis))


@pytest.mark.parametrize("repetitions", [(2,), (2, 3), (2, 1, 3), (2, 1, 1, 3), (0, 1)])
def test_tile(repetitions):
    same(dg.tile(dg.tensor(X), repetitions), np.tile(X, repetitions))


@pytest.mark.parametrize("diagonal", [-5, -1, 0, 1, 5])
def test_triangles(diagonal):
    same(dg.tril(dg.tensor(X), diagonal), np.tril(X, diagonal))
    same(dg.triu(dg.tensor(X), diagonal), np.triu(X, diagonal))


def test_one_hot():
    same(dg.one_hot(dg.tensor([[0, 2], [1, 5]]), 3), np.array([[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_select_and_add(axis):
    index = np.array([1, 0, -1, 1])
    picked = np.take(X, index, axis)
    same(dg.index_select(dg.tensor(X), axis, dg.tensor(index)), picked)
    wanted = np.moveaxis(X.copy(), axis, 0)
    np.add.at(wanted, index, np.moveaxis(picked, axis, 0))
    same(dg.index_add(dg.tensor(X), axis, dg.tensor(index), dg.tensor(picked)), np.moveaxis(wanted, 0, axis))
    with pytest.raises(dg.OutOfRangeError):
        dg.index_select(dg.tensor(X), axis, dg.tensor([9]))


def test_argsort_and_topk():
    x = dg.tensor([[3.0, 1.0, 2.0, 3.0], [0.0, float("nan"), -1.0, 5.0]])
    assert dg.argsort(x).tolist() == [[1, 2, 0, 3], [2, 0, 3, 1]]
    assert dg.argsort(x, descending=True).tolist() == [[0, 3, 2, 1], [1, 3, 0, 2]]
    values, indices = dg.topk(x, 2)
    assert indices.tolist() == [[0, 3], [1, 3]] and values[0].tolist() == [3.0, 3.0]
    assert dg.topk(x, 1, axis=0, largest=False)[1].tolist() == [[1, 0, 1, 0]]
    with pytest.raises(dg.InvalidArgumentError, match="wanted 5"):
        dg.topk(x, 5)


def test_gradients_find_back():
    x = dg.tensor([1.0, 3.0, 2.0], requires_grad=True)
    (dg.topk(x, 2)[0] * dg.tensor([10.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 1.0]
    x.grad = None
    (dg.roll(dg.repeat(x, 2), 1, 0) * dg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).sum().backward()
    assert x.grad.tolist() == [5.0, 9.0, 7.0]
