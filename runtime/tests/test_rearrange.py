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


def test_index_put_writes_and_adds_with_broadcast_indices_and_masks():
    x, rows, columns = dg.tensor(X), dg.tensor([[0], [1]]), dg.tensor([2, 0, 2])
    wanted = X.copy()
    wanted[[[0], [1]], [2, 0, 2]] = 7
    same(dg.index_put(x, (rows, columns), 7.0), wanted)
    wanted = X.copy()
    np.add.at(wanted, ([[0], [1]], [2, 0, 2]), 7)
    same(dg.index_put(x, (rows, columns), 7.0, accumulate=True), wanted)
    mask = X[:, :, 0] > 7
    wanted = X.copy()
    wanted[mask] = [1, 2, 3, 4]
    assert x.index_put_((dg.tensor(mask),), dg.tensor([1.0, 2.0, 3.0, 4.0])) is x
    same(x, wanted)
    with pytest.raises(dg.OutOfRangeError):
        dg.index_put(x, (dg.tensor([2]),), 0.0)


def test_what_cannot_be_joined_or_moved_is_refused():
    with pytest.raises(dg.InvalidArgumentError, match=r"stack: shapes must be equal; found \(2,\) and \(3,\)"):
        dg.stack([dg.ones(2), dg.ones(3)])
    with pytest.raises(dg.OutOfRangeError, match="axis 1"):
        dg.roll(dg.ones(3), 1, 1)


def test_index_add_in_place():
    x = dg.zeros(3)
    assert x.index_add_(0, dg.tensor([2, 2]), dg.tensor([1.0, 5.0])) is x and x.tolist() == [0.0, 0.0, 6.0]


def test_nonzero_and_masked_select():
    same(dg.nonzero(dg.tensor(X % 5)), np.argwhere(X % 5))
    mask = X[0] > 5
    same(dg.masked_select(dg.tensor(X), dg.tensor(mask)), X[np.broadcast_to(mask, X.shape)])
    x = dg.tensor(X, requires_grad=True)
    (x.masked_select(dg.tensor(mask)) * 3).sum().backward()
    same(x.grad, np.broadcast_to(mask * np.float32(3), X.shape))


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    sequence, values = np.array([1.0, 3.0, 3.0, 5.0]), np.array([[0.0, 3.0], [4.0, 9.0]])
    found = dg.searchsorted(dg.tensor(sequence), dg.tensor(values), right)
    same(found, np.searchsorted(sequence, values, "right" if right else "left"))
    with pytest.raises(dg.InvalidArgumentError, match="sequence"):
        dg.searchsorted(dg.ones((2, 3)), dg.ones((3, 3)))


def test_flip_of_all_axes_is_a_view():
    x = dg.tensor(X)
    same(dg.flip(x), np.flip(X))
    dg.flip(x, 0)[0] = 0.0
    assert x[1].sum().item() == 0.0


def test_linspace_and_eye():
    same(dg.linspace(0, 1, 7, dtype=dg.float64), np.linspace(0, 1, 7))
    same(dg.eye(3, 4, k=1), np.eye(3, 4, 1, dtype=np.float32))
    same(dg.eye(2, dtype=dg.bool), np.eye(2, dtype=bool))


def test_random_integers_follow_the_generator_and_its_state():
    generator = dg.Generator(3)
    state = generator.get_state()
    first = dg.randint(-3, 4, (100,), generator=generator)
    coins = dg.bernoulli(0.25, (1000,), generator=generator)
    order = dg.randperm(50, generator=generator)
    assert first.min().item() == -3 and first.max().item() == 3
    assert 200 < coins.sum().item() < 300
    assert sorted(order.tolist()) == list(range(50)) and order.tolist() != list(range(50))
    assert dg.randint(-3, 4, (100,), generator=generator).tolist() != first.tolist()
    generator.set_state(state)
    assert dg.randint(-3, 4, (100,), generator=generator).tolist() == first.tolist()
    assert generator.offset == 50
    with pytest.raises(dg.InvalidArgumentError, match="high"):
        dg.randint(2, 2, (1,))


def test_scatter_reduce_shares_the_gradient_among_winners():
    x = dg.tensor([1.0, 6.0], requires_grad=True)
    source = dg.tensor([4.0, 6.0, 4.0], requires_grad=True)
    y = dg.scatter_reduce(x, dg.tensor([0, 1, 0]), source, 0, "max")
    assert y.detach().tolist() == [4.0, 6.0]
    (y * dg.tensor([2.0, 8.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0] and source.grad.tolist() == [1.0, 4.0, 1.0]


def test_parts_of_an_axis_are_methods_too():
    x = dg.tensor(X)
    for found, wanted in zip(x.split(2, dim=1), (X[:, :2], X[:, 2:]), strict=True):
        same(found, wanted)
    assert [part.shape for part in x.chunk(2, axis=-1)] == [(2, 3, 2), (2, 3, 2)]
    same(x.narrow(2, 1, 2), X[:, :, 1:3])
