"""The random words are those of Philox 4x32-10, by the vectors that its authors publish with Random123."""

from __future__ import annotations

import numpy as np
import pytest
from dougong_kernels.reference._philox import blocks, philox

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
