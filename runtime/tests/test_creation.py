"""Making tensors: from data, from numbers, from arrays."""

from __future__ import annotations

import dougong
import ml_dtypes
import numpy as np
import pytest


def test_dtype_follows_the_data():
    assert dougong.tensor([1.0]).dtype == dougong.float32
    assert dougong.tensor([1]).dtype == dougong.int64
    assert dougong.tensor([True]).dtype == dougong.bool
    assert dougong.tensor(np.float64(1)).dtype == dougong.float64
    assert dougong.tensor(np.arange(3, dtype=np.int16)).dtype == dougong.int16
    assert dougong.tensor(np.ones(2, ml_dtypes.bfloat16)).dtype == dougong.bfloat16
    assert dougong.tensor([1], dtype=dougong.float16).dtype == dougong.float16
    assert dougong.tensor([1], dtype="int8").dtype == dougong.int8
    assert dougong.tensor([1], dtype=np.float64).dtype == dougong.float64


def test_float64_asked_for_keeps_all_digits():
    assert dougong.tensor([0.1], dtype=dougong.float64).item() == 0.1


@pytest.mark.parametrize("data", ["text", ["a"], [print], {"a": 1}, [[1, 2], [3]]], ids=repr)
def test_what_is_no_number_is_refused(data):
    with pytest.raises((TypeError, ValueError)):
        dougong.tensor(data)


def test_tensor_of_a_tensor_is_a_copy_without_history():
    x = dougong.ones(2, requires_grad=True)
    y = dougong.tensor(x)
    assert y.data_ptr() != x.data_ptr()
    assert not y.requires_grad
    assert dougong.tensor([dougong.tensor(1.0), dougong.tensor(2.0)]).tolist() == [1, 2]
    assert dougong.asarray(x) is x
    assert dougong.asarray(x, copy=True) is not x


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3).T, np.arange(6)[::-2], np.zeros((0, 3)), np.array(5)])
def test_any_layout_of_an_array_is_taken(array):
    x = dougong.tensor(array)
    assert x.shape == array.shape
    assert np.array_equal(x.numpy(), array)


def test_foreign_byte_order_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match="astype"):
        dougong.tensor(np.arange(3, dtype=">i4"))


def test_read_only_array_is_shared_but_not_written():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = dougong.from_numpy(array)
    assert (x + 1).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(2, 3), ((2, 3),), ([2, 3],)])
def test_shapes_as_numbers_or_as_one_sequence(shape):
    assert dougong.zeros(*shape).shape == (2, 3)
    assert dougong.ones(*shape).sum().item() == 6
    assert dougong.empty(*shape).shape == (2, 3)
    assert dougong.rand(*shape).shape == (2, 3)


def test_full_takes_the_dtype_of_the_number():
    assert dougong.full((2,), 7).dtype == dougong.int64
    assert dougong.full((2,), 7.0).dtype == dougong.float32
    assert dougong.full((2,), True).dtype == dougong.bool
    assert dougong.full_like(dougong.zeros(2, dtype=dougong.int8), 7).tolist() == [7, 7]
    assert dougong.zeros(0, 3).shape == (0, 3)


@pytest.mark.parametrize(
    "arguments", [(5,), (2, 5), (5, 2), (1, 10, 3), (10, 1, -3), (0, 1, 0.25), (0.5, 3), (1, 0, -0.3)], ids=repr
)
def test_arange_is_numpys(arguments):
    found, wanted = dougong.arange(*arguments), np.arange(*arguments)
    assert found.shape == wanted.shape
    assert np.allclose(found.numpy(), wanted, rtol=1e-6)


def test_arange_without_a_step_is_refused():
    with pytest.raises(ValueError, match="step"):
        dougong.arange(0, 5, 0)


def test_likes_keep_shape_dtype_and_device():
    x = dougong.zeros(2, 3, dtype=dougong.float64)
    for like in (dougong.ones_like, dougong.zeros_like, dougong.empty_like, dougong.rand_like, dougong.randn_like):
        assert like(x).shape == x.shape
        assert like(x).dtype == x.dtype
        assert like(x).device == x.device
    assert dougong.zeros_like(x, dtype=dougong.int8).dtype == dougong.int8


def test_only_floats_can_need_a_gradient():
    assert dougong.zeros(1, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="int64"):
        dougong.zeros(1, dtype=dougong.int64, requires_grad=True)


def test_casts_keep_the_meaning_of_the_specification():
    values = dougong.tensor([-1.9, 1.9, 300.7, float("nan"), float("inf"), -float("inf")])
    assert values.to(dougong.uint8).tolist() == [0, 1, 255, 0, 255, 0]
    assert values.to(dougong.int8).tolist() == [-1, 1, 127, 0, 127, -128]
    assert dougong.tensor([300, -1]).to(dougong.uint8).tolist() == [44, 255]
    assert dougong.tensor([0.0, 0.5, float("nan")]).bool().tolist() == [False, True, True]
    halves = dougong.tensor([1 + 2**-8, 1 + 3 * 2**-8]).bfloat16().float()
    assert halves.tolist() == [1.0, 1 + 2**-6]
