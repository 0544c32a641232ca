"""Layouts put each element where its strides say, apart from every other, at the alignment asked for."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from dougong_conformance import layouts

SHAPES = [(), (1,), (7,), (3, 5), (2, 1, 4), (2, 3, 4), (0, 3), (4, 0)]
DTYPES = [np.dtype(np.float32), np.dtype(np.int8), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float64)]


def some(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_put_in_comes_out_and_no_gap_is_touched(layout, shape, dtype):
    array = some(shape, dtype)
    placement = layouts.place_input(layout, array)
    block = np.full(placement.size, 0xFF, np.uint8)
    placement.view(block)[...] = array
    assert np.array_equal(placement.view(block), array)
    gaps = placement.gaps()
    assert np.all(block[gaps] == 0xFF)
    assert gaps.size == placement.size


@pytest.mark.parametrize("layout", [name for name in layouts.LAYOUTS if name != "broadcast"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_output_has_a_place_of_its_own_for_each_element(layout, shape):
    placement = layouts.place(layout, shape, np.dtype(np.int16))
    places = [
        placement.offset + 2 * sum(i * s for i, s in zip(index, placement.strides, strict=True))
        for index in itertools.product(*map(range, shape))
    ]
    assert len(set(places)) == len(places)
    assert all(0 <= place <= placement.size - 2 for place in places)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("alignment", [0, 4, 64])
def test_the_alignment_of_the_kernel_is_kept(layout, alignment):
    for order in range(3):
        placement = layouts.place_input(layout, some((3, 5), np.dtype(np.float32)), alignment, order)
        assert placement.offset % max(alignment, 4) == 0


def test_without_an_alignment_tensors_are_misaligned_and_no_two_alike():
    offsets = [layouts.place("misaligned", (5,), np.dtype(np.float32), 0, order).offset for order in range(4)]
    assert offsets == [4, 12, 20, 28]


def test_the_layouts_have_the_strides_that_they_are_named_after():
    f32 = np.dtype(np.float32)
    assert layouts.place("dense", (2, 3, 4), f32).strides == (12, 4, 1)
    assert layouts.place("transposed", (2, 3, 4), f32).strides == (1, 2, 6)
    assert layouts.place("sliced", (2, 3, 4), f32).strides == (27, 9, 2)
    assert layouts.place("reversed", (2, 3, 4), f32).strides == (-12, -4, -1)
    assert layouts.place("offset", (2,), f32).offset == 12


def test_constant_axes_get_stride_zero_in_the_layout_broadcast():
    row = np.broadcast_to(some((1, 4), np.dtype(np.float32)), (3, 4))
    assert layouts.place_input("broadcast", row).strides == (0, 1)
    assert layouts.place_input("broadcast", layouts.repeat_along_an_axis(some((3, 4), row.dtype))).strides == (0, 1)
    assert layouts.place_input("broadcast", np.full((3, 4), np.nan, np.float32)).strides == (0, 0)


def test_the_axes_that_an_input_lacks_are_seen_with_stride_zero():
    placement = layouts.place("dense", (3, 1), np.dtype(np.float32))
    seen = layouts.place_broadcast((2, 3, 4), placement)
    assert (seen.shape, seen.strides) == ((2, 3, 4), (0, 1, 0))


def test_an_axis_of_one_has_a_stride_that_means_nothing():
    assert layouts.place("sliced", (3, 1), np.dtype(np.float32)).strides[1] == layouts.MEANINGLESS
    assert layouts.place("sliced", (3, 1), np.dtype(np.float32)).size < 100
