"""Tensors: indices, views, writes in place, promotion, and what is said when something does not fit."""

from __future__ import annotations

import copy
import itertools
import pickle

import dougong
import numpy as np
import pytest

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def arange(*shape: int) -> dougong.Tensor:
    return dougong.tensor(np.arange(np.prod(shape)).reshape(shape))


# -- indices -------------------------------------------------------------------------------------------------------

INDICES = [
    0,
    -1,
    np.int64(1),
    ...,
    None,
    (1, 2),
    (1, ..., 3),
    (..., 0),
    (..., None),
    (None, 1, None),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(5, None, -2),
    slice(2, 1),
    slice(-100, 100),
    slice(LOWEST, HIGHEST),
    slice(LOWEST, HIGHEST, 1),
    slice(None, LOWEST, -1),
    slice(HIGHEST, LOWEST, -1),
    slice(10**30, -(10**30), -1),
    slice(0, 3, HIGHEST),
    slice(2, None, LOWEST),
    (slice(None), slice(1, 3), slice(None, None, -2)),
    (slice(None, None, -1), 0, slice(None, None, -1)),
    (),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_basic_index_is_numpys_view(index):
    array = np.arange(60).reshape(3, 4, 5)
    tensor = dougong.tensor(array)
    view = tensor[index]
    assert view.shape == array[index].shape
    assert np.array_equal(view.numpy(), array[index])
    if view.numel():
        view.copy_(dougong.full((), -1))
        array[index] = -1
        assert np.array_equal(tensor.numpy(), array)


def test_slices_at_the_ends_of_the_integer_range():
    x = dougong.arange(4)
    assert x[LOWEST:HIGHEST:1].tolist() == [0, 1, 2, 3]
    assert x[3:LOWEST:-1].tolist() == [3, 2, 1, 0]
    assert x[3:1].shape == (0,)


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, 0, 0, 0)])
def test_index_out_of_range_names_the_shape(index):
    with pytest.raises(IndexError, match=r"out of range for axis .* of shape|3, 4, 5"):
        arange(3, 4, 5)[index]


def test_index_of_another_type_is_refused():
    with pytest.raises(IndexError, match="str"):
        arange(3)["x"]
    with pytest.raises((IndexError, ValueError), match="Ellipsis"):
        arange(3)[..., ...]
    with pytest.raises(ValueError, match="zero"):
        arange(3)[::0]


def test_integer_tensor_picks_rows():
    x = arange(4, 3)
    assert x[dougong.tensor([2, -1, 2])].tolist() == [[6, 7, 8], [9, 10, 11], [6, 7, 8]]
    assert x[dougong.tensor([[0], [1]])].shape == (2, 1, 3)
    with pytest.raises(IndexError):
        x[dougong.tensor([4])]
    assert (dougong.ones(1) + 1).tolist() == [2.0]


def test_bool_mask_writes():
    x = arange(2, 3)
    x[x > 2] = 0
    assert x.tolist() == [[0, 1, 2], [0, 0, 0]]


def test_iteration_and_contains():
    assert [row.tolist() for row in arange(2, 2)] == [[0, 1], [2, 3]]
    assert 3 in arange(2, 2)
    assert 9 not in arange(2, 2)


# -- views and memory ----------------------------------------------------------------------------------------------


def test_views_share_memory_and_copies_do_not():
    x = dougong.zeros(4, 6)
    views = [x[1], x.T, x.reshape(6, 4), x.transpose(0, 1), x.permute(1, 0), x.unsqueeze(0), x.view(2, 12), x.detach()]
    copies = [x.clone(), x + 0, x.T.contiguous(), x.T.reshape(24), dougong.tensor(x)]
    x.fill_(7)
    assert all((v == 7).numpy().all() for v in views)
    assert all((c == 0).numpy().all() for c in copies)


def test_dependencies_through_two_views_of_one_storage():
    storage = dougong.zeros(8)
    first, second = storage[0:4], storage[2:6]
    first += 1
    second *= 3
    result = first + second
    assert storage.tolist() == [1, 1, 3, 3, 0, 0, 0, 0]
    assert result.tolist() == [4, 4, 3, 3]
    kept = storage.clone()
    storage.fill_(9)
    junk = [dougong.full((8,), i) for i in range(10)]
    assert kept.tolist() == [1, 1, 3, 3, 0, 0, 0, 0]
    assert len(junk) == 10


@pytest.mark.parametrize(
    ("shape", "strides", "dense"),
    [
        ((1, 77), (1, 1), True),
        ((2, 3, 1), (3, 1, 99), True),
        ((5,), (1,), True),
        ((), (), True),
        ((0, 2048), (5, 7), True),
        ((2, 3), (1, 2), False),
        ((3,), (2,), False),
        ((3,), (0,), False),
    ],
)
def test_contiguity_ignores_strides_of_axes_of_size_one_and_of_empty_tensors(shape, strides, dense):
    x = dougong.as_strided(dougong.arange(400), shape, strides)
    assert x.is_contiguous() is dense
    again = dougong.from_dlpack(x)
    assert again.shape == shape
    assert np.array_equal(again.numpy(), x.numpy())


def test_expand_broadcasts_without_copy():
    x = dougong.tensor([[1], [2]]).expand(2, 3)
    assert x.strides == (1, 0)
    assert x.sum(1).tolist() == [3, 6]
    with pytest.raises(ValueError, match=r"\(2, 1\).*\(3, 3\)"):
        dougong.tensor([[1], [2]]).expand(3, 3)


def test_reshape_and_view_say_both_shapes():
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4, 2\)"):
        arange(2, 3).reshape(4, 2)
    with pytest.raises(ValueError, match="reshape"):
        arange(2, 3).T.view(6)
    assert arange(2, 3).reshape(-1, 2).shape == (3, 2)
    assert dougong.zeros(0, 3).reshape(3, 0).shape == (3, 0)


def test_flip_squeeze_flatten_split():
    x = arange(2, 1, 3)
    assert dougong.flip(x, (2,)).tolist() == [[[2, 1, 0]], [[5, 4, 3]]]
    assert x.squeeze().shape == (2, 3)
    assert x.squeeze(1).shape == (2, 3)
    assert x.flatten().shape == (6,)
    assert x.flatten(1).shape == (2, 3)
    assert [p.shape for p in dougong.split(arange(7), 3)] == [(3,), (3,), (1,)]
    assert [p.tolist() for p in dougong.chunk(arange(5), 2)] == [[0, 1, 2], [3, 4]]
    assert dougong.stack([arange(2), arange(2)], 1).tolist() == [[0, 0], [1, 1]]


def test_sizes_that_overflow_are_refused():
    with pytest.raises((ValueError, MemoryError, OverflowError, RuntimeError)):
        dougong.empty(2**40, 2**40)
    with pytest.raises(dougong.OutOfMemoryError):
        dougong.empty(2**62, dtype=dougong.uint8)
    with pytest.raises((ValueError, RuntimeError)):
        dougong.empty(-1)


# -- writes in place -----------------------------------------------------------------------------------------------


def test_write_in_place_keeps_object_and_memory():
    x = dougong.tensor([1.0, 2.0])
    before, address = x, x.data_ptr()
    x += 1
    x *= dougong.tensor([2.0, 3.0])
    x -= 1
    x /= 2
    assert x is before
    assert x.data_ptr() == address
    assert x.tolist() == [1.5, 4.0]
    assert x.neg_() is x
    assert x.tolist() == [-1.5, -4.0]


def test_write_to_an_expanded_tensor_raises_and_changes_nothing():
    base = dougong.zeros(3, 1)
    expanded = base.expand(3, 4)
    for write in (lambda: expanded.add_(1), lambda: expanded.fill_(1), lambda: expanded.copy_(dougong.ones(3, 4))):
        with pytest.raises(ValueError):
            write()
    assert base.tolist() == [[0], [0], [0]]
    assert (expanded + 1).sum().item() == 12


def test_shifting_a_buffer_over_itself_is_right_every_time():
    for _ in range(50):
        b = dougong.arange(1000)
        b[1:] = b[:-1]
        assert b.tolist() == [0, *range(999)]


def test_in_place_result_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3, 2\)|\(3, 2\).*\(2,\)"):
        dougong.zeros(2).add_(dougong.zeros(3, 2))
    with pytest.raises(ValueError, match="float"):
        dougong.zeros(2, dtype=dougong.int64).add_(0.5)
    x = dougong.zeros(2, dtype=dougong.float16)
    assert x.add_(dougong.ones(2, dtype=dougong.float32)).dtype == dougong.float16


def test_out_is_written_and_returned():
    a, b = dougong.tensor([1.0, 2.0]), dougong.tensor([3.0, 4.0])
    out = dougong.zeros(2)
    assert dougong.add(a, b, out=out) is out
    assert out.tolist() == [4.0, 6.0]
    strided = dougong.zeros(4)
    dougong.mul(a, b, out=strided[::2])
    assert strided.tolist() == [3.0, 0.0, 8.0, 0.0]
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        dougong.add(a, b, out=dougong.zeros(3))


def test_out_may_overlap_the_inputs():
    x = dougong.arange(6).float()
    dougong.add(x[:-1], x[1:], out=x[:-1])
    assert x.tolist() == [1, 3, 5, 7, 9, 5]
    y = arange(3, 3).float()
    dougong.matmul(y, y, out=y)
    assert np.array_equal(y.numpy(), np.arange(9.0).reshape(3, 3) @ np.arange(9.0).reshape(3, 3))


def test_copy_converts_and_broadcasts():
    x = dougong.zeros(2, 3)
    x.copy_(dougong.tensor([1, 2, 3]))
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(ValueError, match=r"\(4,\).*\(2, 3\)"):
        x.copy_(dougong.zeros(4))


# -- dtypes --------------------------------------------------------------------------------------------------------

ARRAY_API = ["int8", "int16", "int32", "int64", "uint8", "float32", "float64", "bool"]


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(ARRAY_API, 2)))
def test_promotion_is_the_array_apis(a, b):
    """Within a kind, and between signed and unsigned integers, NumPy agrees with the array API."""
    kinds = {np.dtype(a).kind, np.dtype(b).kind}
    ours = dougong.promote_types(getattr(dougong, a), getattr(dougong, b))
    if kinds <= {"i", "u"} or len(kinds) == 1:
        assert ours.name == np.promote_types(a, b).name
    elif "f" in kinds:  # PyTorch's rule where the array API is silent: the float wins
        assert ours.name == (a if np.dtype(a).kind == "f" else b)
    else:
        assert ours.name == (b if a == "bool" else a)
    assert dougong.promote_types(getattr(dougong, b), getattr(dougong, a)) is ours


def test_halves_meet_in_float32():
    assert dougong.promote_types(dougong.float16, dougong.bfloat16) is dougong.float32


@pytest.mark.parametrize(
    ("dtype", "number", "wanted"),
    [
        ("float16", 2.5, "float16"),
        ("bfloat16", 3, "bfloat16"),
        ("int8", 3, "int8"),
        ("int32", 2.5, "float32"),
        ("bool", 2, "int64"),
        ("bool", 2.5, "float32"),
        ("bool", True, "bool"),
        ("float64", 1, "float64"),
        ("uint8", True, "uint8"),
    ],
)
def test_python_numbers_are_weak(dtype, number, wanted):
    x = dougong.ones(2, dtype=getattr(dougong, dtype))
    assert (x + number).dtype.name == wanted
    assert (number + x).dtype.name == wanted


def test_numpy_leaves_array_plus_tensor_to_us():
    x = dougong.ones(2)
    assert isinstance(np.float64(2) * x, dougong.Tensor)
    assert (np.float64(2) * x).dtype == dougong.float32
    with pytest.raises(TypeError):
        np.ones(2) + x


def test_true_division_of_integers_is_float():
    assert (dougong.tensor([1, 2]) / 2).tolist() == [0.5, 1.0]
    assert (dougong.tensor([1, 2]) / dougong.tensor([2, 2])).dtype == dougong.float32


# -- messages ------------------------------------------------------------------------------------------------------


def test_shapes_that_do_not_fit_are_both_named():
    with pytest.raises(ValueError, match=r"add.*\(2, 3\).*\(4,\)"):
        dougong.zeros(2, 3) + dougong.zeros(4)
    with pytest.raises(ValueError, match=r"matmul.*\(2, 3\).*\(2, 3\)"):
        dougong.zeros(2, 3) @ dougong.zeros(2, 3)
    with pytest.raises(ValueError, match=r"cat.*\(2, 3\).*\(2, 4\)"):
        dougong.cat([dougong.zeros(2, 3), dougong.zeros(2, 4)], 0)


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match=r"add.*str"):
        dougong.add(dougong.zeros(1), "x")
    with pytest.raises(TypeError, match="missing"):
        dougong.add(dougong.zeros(1))
    with pytest.raises(TypeError, match="nonsense"):
        dougong.sum(dougong.zeros(1), nonsense=1)
    with pytest.raises(IndexError, match="axis 5"):
        dougong.sum(dougong.zeros(1), 5)
    with pytest.raises(ValueError, match="int64"):
        dougong.softmax(dougong.zeros(2, dtype=dougong.int64))


def test_truth_of_many_elements_is_refused():
    assert bool(dougong.tensor([2.0]))
    with pytest.raises(ValueError, match=r"\(2,\)"):
        bool(dougong.zeros(2))
    with pytest.raises(TypeError, match="length"):
        len(dougong.zeros(()))


# -- Python --------------------------------------------------------------------------------------------------------


def test_numbers_both_ways():
    assert float(dougong.tensor(2.5)) == 2.5
    assert int(dougong.tensor([3])) == 3
    assert [10, 20, 30][dougong.tensor(1)] == 20
    assert f"{dougong.tensor(1.5):.2f}" == "1.50"
    for dtype in ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64", "bool"):
        assert dougong.ones((), dtype=getattr(dougong, dtype)).item() == 1


@pytest.mark.parametrize("make", [pickle.loads, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_through_python_keep_values_dtype_and_requires_grad(make):
    x = dougong.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dougong.bfloat16, requires_grad=True)
    y = make(pickle.dumps(x) if make is pickle.loads else x)
    assert y.dtype == x.dtype
    assert y.requires_grad
    assert y.tolist() == x.tolist()
    assert y.data_ptr() != x.data_ptr()


def test_pickled_view_carries_its_own_elements():
    base = dougong.zeros(100_000)
    assert len(pickle.dumps(base[5:8])) < 2000
    assert len(pickle.dumps(base.reshape(100, 1000)[:, ::500])) < 4000


def test_repr_shows_values_dtype_and_history():
    assert repr(dougong.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert "dtype=dougong.float16" in repr(dougong.zeros(1, dtype=dougong.float16))
    assert "requires_grad=True" in repr(dougong.zeros(1, requires_grad=True))
    assert "grad_fn=<add>" in repr(dougong.zeros(1, requires_grad=True) + 1)


def test_numpy_shares_memory_with_a_host_tensor():
    x = dougong.zeros(3)
    x.numpy()[1] = 5
    assert x.tolist() == [0, 5, 0]
    array = np.zeros(3, np.float32)
    y = dougong.from_numpy(array[::-1])
    array[0] = 7
    assert y.tolist() == [0, 0, 7]


@pytest.mark.parametrize("size", [1, 16, 64, 100, 10**6])
def test_tensor_takes_a_snapshot_of_the_array(size):
    array = np.arange(size)
    x = dougong.tensor(array)
    array[:] = -1
    assert np.array_equal(x.numpy(), np.arange(size))


def test_axis_may_be_called_dim():
    x = arange(2, 3).float()
    assert dougong.stack([x, x], dim=1).shape == (2, 2, 3)
    assert [p.shape for p in dougong.split(x, 1, dim=1)] == [(2, 1)] * 3
    assert x.std(dim=0, keepdims=True).shape == (1, 3)
    assert x.sum(dim=1, keepdims=True).shape == (2, 1)
    assert dougong.cat([x, x], dim=1).shape == (2, 6)
    assert x.softmax(dim=0).shape == x.argmax(dim=0, keepdim=True).expand(2, 3).shape
    with pytest.raises(TypeError, match="axis is given twice"):
        dougong.std(x, axis=0, dim=0)
    with pytest.raises(TypeError, match="dim is given twice"):
        x.sum(0, dim=0)
    with pytest.raises(TypeError, match="relu has no argument dim"):
        x.relu(dim=0)


@pytest.mark.parametrize("mix", [lambda a, x: a + x, lambda a, x: x + a, lambda a, x: x * a])
def test_arrays_and_tensors_do_not_mix_and_the_error_says_what_to_do(mix):
    with pytest.raises(TypeError, match=r"dougong\.tensor\(array\)"):
        mix(np.ones(3), dougong.ones(3))


def test_view_that_does_not_fit_is_named_as_it_was_called():
    with pytest.raises(ValueError, match=r"view: 3 elements of shape \(3,\)"):
        dougong.ones(3).view(5)
