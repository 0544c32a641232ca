"""Indexing is NumPy's: what is read, what is written, what is refused; and gradients find back."""

from __future__ import annotations

import dougong as dg
import numpy as np
import pytest

X = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
I2 = np.array([2, 0])
I22 = np.array([[0, -1], [1, 0]])
ROWS = np.array([True, False, True])
COLUMNS = np.array([True, False, False, True])
MATRIX = np.arange(12).reshape(3, 4) % 3 == 0
CUBE = X % 7 == 0
ALL = slice(None)

READS = [
    1, -1, (1, 2), (1, 2, 3), ALL, slice(1, None), slice(None, None, -1), slice(2, 0, -1), slice(0, 0), slice(-9, 9, 2),
    None, (None, 1), (ALL, None, 1), Ellipsis, (Ellipsis, 1), (1, Ellipsis), (1, Ellipsis, 2), (0, 1, 2, Ellipsis), (),
    (ALL, slice(None, None, -2), slice(4, 1, -2)),
    I2, I22, [2, 0], [[0, 1], [2, 0]], [], np.array(1), np.uint8([2, 1]), np.int32([0, -3]),
    (I2, I2), (I2, I22), (I22[:, :, None], I2), (I2, I2, I2), (ALL, I2), (ALL, ALL, I22), (I2, ALL, I2),
    (ALL, I2, I2), (ALL, I2, ALL), (0, ALL, I2), (I2, ALL, 0), (ALL, 0, I2), (I2, 0), (0, I2), (I2, None, I2),
    (None, I2), (None, I2, ALL, I2), (ALL, None, I2), (Ellipsis, I2), (I2, Ellipsis), (I2, Ellipsis, I2),
    (I2, I2, Ellipsis, I2), (slice(1, None), I2, slice(None, None, -1)), (slice(None, None, -1), I22, 1),
    ([0, 1], [1, 2]), (ALL, [True, False, True, False]), np.empty((2, 0), int),
    ROWS, MATRIX, CUBE, (ALL, COLUMNS), (0, COLUMNS), (ROWS, 1), (ROWS, ALL, 1), (ROWS, I2),
    (ROWS, COLUMNS),
    (MATRIX, 0), (MATRIX, [0]), (None, MATRIX), (Ellipsis, np.array([True, False, True, True, False])),
    np.zeros(3, bool), True, False, (True, 1), (ALL, True), (I2, True), np.array(True),
]  # fmt: skip


def as_tensors(index):
    """The index with tensors in place of arrays."""
    if isinstance(index, tuple):
        return tuple(as_tensors(part) for part in index)
    return dg.tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", READS, ids=str)
def test_reading_is_numpys(index):
    for form in (index, as_tensors(index)):
        found = dg.tensor(X)[form]
        assert found.shape == X[index].shape
        assert np.array_equal(found.numpy(), X[index])


@pytest.mark.parametrize("index", READS, ids=str)
def test_writing_is_numpys(index):
    shape = X[index].shape
    values = -1.0 - np.arange(np.prod(shape)).reshape(shape)
    more_axes = values[None] if shape and index is not CUBE else values  # NumPy refuses them for a mask of all axes
    for value in (values, -7.0, values[..., :1] if shape else values, more_axes):
        wanted, found = X.copy(), dg.tensor(X)
        wanted[index] = value
        found[as_tensors(index)] = dg.tensor(value) if isinstance(value, np.ndarray) else value
        assert np.array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("index", READS, ids=str)
def test_a_recorded_write_is_the_same_write_and_its_gradient_finds_back(index):
    leaf, value = dg.tensor(X, requires_grad=True), dg.tensor(-X[index], requires_grad=True)
    found = leaf * 1
    found[as_tensors(index)] = value
    wanted, kept = X.copy(), np.ones_like(X)
    wanted[index], kept[index] = -X[index], 0
    assert np.array_equal(found.detach().numpy(), wanted)
    weight = dg.tensor(X + 1)
    (found * weight).sum().backward()
    assert np.array_equal(leaf.grad.numpy(), kept * (X + 1))
    if len(np.unique(X[index])) == X[index].size:  # where places repeat, one value is written and all get its gradient
        assert np.array_equal(value.grad.numpy(), (X + 1)[index])


@pytest.mark.parametrize("index", READS, ids=str)
def test_the_gradient_of_reading_adds_up_where_it_read(index):
    leaf = dg.tensor(X, requires_grad=True)
    read = leaf[as_tensors(index)]
    weight = np.arange(read.numel(), dtype=np.float64).reshape(read.shape) + 1
    (read * dg.tensor(weight)).sum().backward()
    wanted = np.zeros_like(X)
    np.add.at(wanted, index, weight)
    assert np.array_equal(leaf.grad.numpy(), wanted)


@pytest.mark.parametrize(
    "index",
    [
        3, (0, 4), (0, 0, 5), (0, 0, 0, 0), [3], [-4], (I2, [5]), (I2, [0, 1, 2]), (I2, I2, I2, I2), [0.5], ["a"],
        np.array([True, False]), np.ones((3, 3), bool), (ALL, ROWS), "x", 1.5,
    ],
    ids=str,
)  # fmt: skip
def test_what_numpy_refuses_is_an_index_error(index):
    with pytest.raises(IndexError):
        X[index]
    for form in (index, as_tensors(index)):
        with pytest.raises(IndexError):
            dg.tensor(X)[form]
        found = dg.tensor(X)
        with pytest.raises(IndexError):
            found[form] = 0
        assert np.array_equal(found.numpy(), X)


def test_a_value_that_does_not_broadcast_is_refused():
    for index, value in ((1, np.zeros(3)), (I2, np.zeros((3, 4, 5))), (MATRIX, np.zeros((3, 5)))):
        with pytest.raises(ValueError):
            X.copy()[index] = value
        with pytest.raises(ValueError):
            dg.tensor(X)[as_tensors(index)] = dg.tensor(value)


def test_of_equal_places_the_last_value_stays():
    x = dg.zeros(3)
    x[dg.tensor([1, 1, 0, 1])] = dg.tensor([5.0, 6.0, 7.0, 8.0])
    assert x.tolist() == [7.0, 8.0, 0.0]


def test_written_values_take_the_dtype_of_the_tensor():
    x = dg.zeros(3, dtype=dg.int32)
    x[[0, 2]] = dg.tensor([1.9, -2.9])
    assert x.dtype == dg.int32 and x.tolist() == [1, 0, -2]


def test_a_write_through_a_view_reaches_the_tensor():
    x = dg.tensor(X)
    x[1][I2.tolist(), 1:3] = 0
    x.transpose(0, 1)[dg.tensor([True, False, False, False])] = -1
    wanted = X.copy()
    wanted[1][I2, 1:3] = 0
    wanted[:, 0] = -1
    assert np.array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("index", [1, (slice(None), 2), (slice(1, None), slice(None, None, -2)), I2, MATRIX], ids=str)
def test_adding_to_a_part_in_place_has_gradients(index):
    leaf, step = dg.tensor(X, requires_grad=True), dg.tensor(X[index], requires_grad=True)
    found = leaf * 2
    found[as_tensors(index)] += step * 3
    wanted = X * 2
    wanted[index] += X[index] * 3
    assert np.array_equal(found.detach().numpy(), wanted)
    (found * dg.tensor(X)).sum().backward()
    assert np.array_equal(leaf.grad.numpy(), 2 * X)
    assert np.array_equal(step.grad.numpy(), 3 * X[index])


def test_writes_with_a_gradient_into_what_had_none():
    step = dg.tensor([1.0, 2.0], requires_grad=True)
    out = dg.zeros((3, 2))
    for i in range(3):
        out[i] = step * (i + 1)
    out[0] += step
    (out * out).sum().backward()
    assert out.detach().tolist() == [[2.0, 4.0], [2.0, 4.0], [3.0, 6.0]]
    assert step.grad.tolist() == [2 * (4 + 4 + 9) * 1.0, 2 * (4 + 4 + 9) * 2.0]


def test_an_op_in_place_on_a_view_is_recorded_for_its_base():
    leaf = dg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = leaf * 1
    row = base[1]
    row.mul_(leaf[0])
    assert base.detach().tolist() == [[1.0, 2.0], [3.0, 8.0]]
    (base.sum() + row.sum()).backward()
    assert leaf.grad.tolist() == [[1 + 6.0, 1 + 8.0], [2.0, 4.0]]


def test_another_view_of_a_base_that_was_written_is_refused():
    base = dg.ones((2, 2), requires_grad=True) * 1
    other, row = base[0], base[1]
    row.mul_(2)
    with pytest.raises(ValueError, match="take the view again"):
        (other * 2).sum().backward()


def test_a_view_that_the_tape_did_not_see_is_refused():
    base = dg.ones((2, 2), requires_grad=True) * 1
    with dg.no_grad():
        row = base[0]
    for view in (row, row[0:1]):
        with pytest.raises(NotImplementedError, match="no_grad"):
            view.mul_(dg.ones(1, requires_grad=True))


def test_a_leaf_and_its_views_are_not_written():
    leaf = dg.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="leaf"):
        leaf[0] = 1.0
    with pytest.raises(ValueError, match="leaf"):
        leaf[0:2].mul_(2)
    with dg.no_grad():
        leaf[0] = 5.0
    assert leaf.detach().tolist() == [5.0, 1.0, 1.0]


def test_copy_in_place_is_recorded():
    source = dg.tensor([1.0, 2.0], requires_grad=True)
    target = dg.zeros((2, 2))
    target.copy_(source * 3)
    target.sum().backward()
    assert source.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("offset", [-9, -2, 0, 1, 9])
@pytest.mark.parametrize("axes", [(0, 1), (2, 0), (-1, -2)])
def test_diagonal_is_numpys_view(offset, axes):
    x = dg.tensor(X, requires_grad=True)
    found, wanted = dg.diagonal(x, offset, *axes), np.diagonal(X, offset, *axes)
    assert np.array_equal(found.detach().numpy(), wanted)
    (found * found).sum().backward()
    places = np.diagonal(np.arange(60).reshape(X.shape), offset, *axes)
    assert np.array_equal(x.grad.numpy(), 2 * X * np.isin(np.arange(60), places).reshape(X.shape))
    plain = dg.tensor(X)
    dg.diagonal(plain, offset, *axes).fill_(-1)
    assert np.array_equal(plain.numpy(), np.where(np.isin(X, wanted), -1, X))


@pytest.mark.parametrize(("axis", "size", "step"), [(0, 2, 1), (2, 3, 2), (-1, 5, 1), (1, 0, 3), (1, 1, 4)])
def test_unfold_shows_windows(axis, size, step):
    x = dg.tensor(X, requires_grad=True)
    found = dg.unfold(x, axis, size, step)
    windows = np.lib.stride_tricks.sliding_window_view(X, max(size, 1), axis)[..., :size]
    axis %= 3
    count = (X.shape[axis] - size) // step + 1
    if size:
        wanted = np.take(windows, np.arange(count) * step, axis)
        assert np.array_equal(found.detach().numpy(), wanted)
    found.sum().backward()
    times = np.zeros(X.shape[axis])
    for start in range(0, count * step, step):
        times[start : start + size] += 1
    wanted = np.moveaxis(np.broadcast_to(times, np.moveaxis(X, axis, -1).shape), -1, axis)
    assert np.array_equal(x.grad.numpy(), wanted)


def test_views_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="two axes"):
        dg.diagonal(dg.ones(3))
    with pytest.raises(ValueError, match="found 0 twice"):
        dg.diagonal(dg.ones((2, 2)), 0, 0, -2)
    with pytest.raises(ValueError, match="windows"):
        dg.unfold(dg.ones(3), 0, 4, 1)
