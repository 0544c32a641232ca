"""Samplers: the indices of an epoch, in order. Random ones draw from a generator, by default the CPU's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core, _creation, _random

if TYPE_CHECKING:
    import numpy as np


class Sampler:
    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


def _order(count: int, generator: _random.Generator | None) -> list[int]:
    return _creation.randperm(count, device="cpu:0", generator=generator).tolist()


def _uniforms(count: int, generator: _random.Generator | None) -> np.ndarray:
    return _creation.rand(count, dtype=_core.float64, device="cpu:0", generator=generator).numpy()


class SequentialSampler(Sampler):
    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in random order, or `num_samples` of them; with `replacement` each is drawn from all."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: _random.Generator | None = None,
    ) -> None:
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"num_samples must be positive; found {num_samples}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.replacement:
            draws = _uniforms(self.num_samples, self.generator)
            return iter([min(int(u * count), count - 1) for u in draws])
        order: list[int] = []
        while count and len(order) < self.num_samples:
            order += _order(count, self.generator)
        return iter(order[: self.num_samples])

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These indices in random order."""

    def __init__(self, indices: Sequence[int], generator: _random.Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in _order(len(self.indices), self.generator))

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` indices, each drawn with a probability in proportion to its weight."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: _random.Generator | None = None,
    ) -> None:
        self.weights = [float(weight) for weight in weights]
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator
        if num_samples < 1:
            raise ValueError(f"num_samples must be positive; found {num_samples}")
        if not all(0 <= weight < math.inf for weight in self.weights) or not any(self.weights):
            raise ValueError("the weights must be finite, none negative, and not all zero")
        positive = sum(weight > 0 for weight in self.weights)
        if not replacement and num_samples > positive:
            raise ValueError(f"{num_samples} indices without replacement need as many weights; found {positive} > 0")

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        weights = np.asarray(self.weights)
        if self.replacement:
            sums = np.cumsum(weights)
            draws = _uniforms(self.num_samples, self.generator) * sums[-1]
            return iter(np.searchsorted(sums, draws, side="right").tolist())
        # The least of exponential waiting times, of rates as the weights, come in the order of such draws.
        with np.errstate(divide="ignore"):
            waits = -np.log1p(-_uniforms(len(weights), self.generator)) / weights
        waits[weights == 0] = np.inf
        return iter(np.argsort(waits, kind="stable")[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices; the last one may be shorter, or is dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be positive; found {batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + (1 if rest and not self.drop_last else 0)


class DistributedSampler(Sampler):
    """The share of one of `num_replicas` processes: every one of them gets as many indices, all different.

    The order of an epoch is the same for all of them: it depends on `seed` and on what :meth:`set_epoch` was told. To
    be of equal length, the shares repeat some first indices, or leave some last ones out with `drop_last`. Number and
    rank of the processes are read from WORLD_SIZE and RANK if not given.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas = _from_environment("WORLD_SIZE", num_replicas)
        self.rank = _from_environment("RANK", rank)
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"rank must be from 0 to {self.num_replicas - 1}; found {self.rank}")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    def set_epoch(self, epoch: int) -> None:
        """Another epoch, another order. Without it every epoch has the same one."""
        self.epoch = epoch

    def __len__(self) -> int:
        rounded = math.floor if self.drop_last else math.ceil
        return rounded(len(self.dataset) / self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        generator = _random.Generator().manual_seed(self.seed + self.epoch)
        order = _order(count, generator) if self.shuffle else list(range(count))
        total = len(self) * self.num_replicas
        order = order * math.ceil(total / count) if count else order
        return iter(order[:total][self.rank :: self.num_replicas])


def _from_environment(name: str, given: int | None) -> int:
    if given is not None:
        return given
    if name not in os.environ:
        raise ValueError(f"DistributedSampler: give num_replicas and rank, or set WORLD_SIZE and RANK; {name} is unset")
    return int(os.environ[name])
