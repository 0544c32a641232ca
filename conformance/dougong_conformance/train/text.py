"""The text of `pydoc_data.topics`, which comes with CPython, as codes; the vocabulary is what occurs in it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..case import NotRun

LENGTH = 32
BATCH = 16


@dataclass(frozen=True)
class Text:
    """``codes[i]`` is the place of character i in the vocabulary."""

    codes: np.ndarray
    vocabulary: str

    def batches(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Without end: windows of the text, and what follows each of their characters, (BATCH, LENGTH) both."""
        rng = np.random.default_rng(seed)
        while True:
            starts = rng.integers(0, len(self.codes) - LENGTH, BATCH)
            windows = self.codes[starts[:, None] + np.arange(LENGTH + 1)]
            yield windows[:, :-1], windows[:, 1:]

    @functools.cached_property
    def entropy(self) -> float:
        """Of a character, in nats: no model that does not look at the text before can have a lower loss."""
        return _entropy(self._pairs.sum(0))

    @functools.cached_property
    def entropy_after_one(self) -> float:
        """Of a character given the one before it: no model that looks at one character alone can have a lower loss."""
        return _entropy(self._pairs.ravel()) - _entropy(self._pairs.sum(1))

    @functools.cached_property
    def _pairs(self) -> np.ndarray:
        counts = np.zeros((len(self.vocabulary),) * 2)
        np.add.at(counts, (self.codes[:-1], self.codes[1:]), 1)
        return counts


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-np.sum(shares * np.log(shares)))


@functools.cache
def load() -> Text:
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise NotRun(
            f"this Python was installed without the module pydoc_data, whose text is learned ({error})"
        ) from None
    text = "".join(topics[name] for name in sorted(topics))
    vocabulary = "".join(sorted(set(text)))
    place = {character: i for i, character in enumerate(vocabulary)}
    return Text(np.array([place[character] for character in text], np.int64), vocabulary)
