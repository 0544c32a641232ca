"""The random words are those of Philox 4x32-10, by the vectors that its authors publish with Random123."""

from __future__ import annotations

import numpy as np
import pytest
from dougong_kernels.cases import numpy_dtype
from dougong_kernels.reference._philox import blocks, philox
from dougong_kernels.reference.uniform import uniform

KNOWN_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_known_answers(counter: list[int], key: list[int], words: list[int]) -> None:
    assert philox(np.array([counter], np.uint64), key)[0].tolist() == words


def test_blocks_count_on_across_32_bits() -> None:
    first, second = blocks(5, 2**32 - 1, 2), blocks(5, 2**32, 1)
    assert first[1].tolist() == second[0].tolist() != first[0].tolist()


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_uniform_is_the_top_bits_of_each_word_and_less_than_one(dtype: str, bits: int) -> None:
    y = uniform(shape=(999,), dtype=numpy_dtype(dtype), seed=3, offset=9).astype(np.float64)
    words = blocks(3, 9, 250).ravel().tolist()
    assert y.tolist() == [(word >> (32 - bits)) / 2**bits for word in words[:999]]
    assert y.max() < 1


def test_uniform_in_float64_is_53_bits_of_two_words() -> None:
    y = uniform(shape=(3, 33), dtype=np.dtype(np.float64), seed=2**40 + 1, offset=0).ravel()
    words = blocks(2**40 + 1, 0, 50).ravel().tolist()
    pairs = list(zip(words[::2], words[1::2], strict=True))[:99]
    assert y.tolist() == [((a >> 5 << 26) + (b >> 6)) / 2**53 for a, b in pairs]
