"""Datasets: by index (``__len__`` and ``__getitem__``), or as a stream (``__iter__``)."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .. import _core, _creation, _random
from .._core import Tensor


class Dataset:
    """Examples by index. One that also has ``batch(indices)`` is asked for whole batches, collated."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Examples one after the other. Each worker goes over its own copy: see :func:`get_worker_info`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(self, other: Any) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Example i is the tuple of row i of each tensor."""

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors or any(tensor.ndim == 0 or tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise _core.InvalidArgumentError(
                f"the tensors must have as many rows as each other; found shapes {[tensor.shape for tensor in tensors]}"
            )
        self.tensors = tensors

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def batch(self, indices: Sequence[int]) -> tuple[Tensor, ...]:
        """The rows of many examples at once."""
        rows = _creation.tensor(list(indices), dtype=_core.int64)
        return tuple(tensor[rows.to(device=tensor.device)] for tensor in self.tensors)


class StackDataset(Dataset):
    """Example i is the tuple, or dict, of example i of each dataset."""

    def __init__(self, *datasets: Any, **named: Any) -> None:
        if bool(datasets) == bool(named):
            raise ValueError("StackDataset takes datasets, or named datasets; found both or none")
        self.datasets: Any = named or datasets
        lengths = [len(dataset) for dataset in self._all()]
        if len(set(lengths)) != 1:
            raise ValueError(f"StackDataset: the datasets must be of one length; found {lengths}")

    def _all(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __len__(self) -> int:
        return len(self._all()[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)


class ConcatDataset(Dataset):
    """Datasets one behind the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs one dataset at least")
        self.ends = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.ends[-1]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} examples")
        index %= len(self)
        which = bisect.bisect_right(self.ends, index)
        return self.datasets[which][index - (self.ends[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Streams one behind the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class Subset(Dataset):
    """The examples of a dataset that the indices name, in their order."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        if hasattr(dataset, "batch"):
            self.batch = self._batch

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def _batch(self, indices: Sequence[int]) -> Any:
        return self.dataset.batch([self.indices[i] for i in indices])


def random_split(dataset: Any, lengths: Sequence[float], generator: _random.Generator | None = None) -> list[Subset]:
    """Disjoint random subsets of these lengths: whole numbers, or shares that sum to 1.

    What the rounding of shares leaves over goes to the subsets in turn.
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and any(0 < length < 1 for length in lengths):
        sizes = [math.floor(total * length) for length in lengths]
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [int(length) for length in lengths]
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise ValueError(f"random_split: the lengths must sum to {total}, or shares to 1; found {list(lengths)}")
    order = _creation.randperm(total, device="cpu:0", generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
