"""Scikit-learn's digits, 1797 images of 8 by 8, split and put into batches: the same ones for every device."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..case import NotRun

HELD_OUT = 360
BATCH = 64


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 numbers from 0 to 1, in float32, and their labels."""

    images: np.ndarray
    labels: np.ndarray
    held_out_images: np.ndarray
    held_out_labels: np.ndarray

    def batches(self, epochs: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Whole batches, in another order each epoch."""
        rng = np.random.default_rng(seed)
        for _ in range(epochs):
            order = rng.permutation(len(self.labels))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                chosen = order[start : start + BATCH]
                yield self.images[chosen], self.labels[chosen]


@functools.cache
def load() -> Digits:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise NotRun(f"scikit-learn is needed for its digits: pip install 'dougong[train]' ({error})") from None
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = (images[order] / 16).astype(np.float32), labels[order].astype(np.int64)
    return Digits(images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT])
