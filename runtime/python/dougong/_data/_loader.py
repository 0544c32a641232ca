"""The loader."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import _core, _creation, _random
from ._collate import mapped_tensors
from ._datasets import IterableDataset
from ._samplers import BatchSampler, RandomSampler, SequentialSampler
from ._workers import Fetch, Pool, WorkerError, ordered_batches

_MOST_AHEAD = 64  # batches under way in a worker: their messages fit into its pipe


class DataLoader:
    """Goes over a dataset in batches, in another random order each time if `shuffle` is set.

    The dataset has ``__len__`` and ``__getitem__``, or is an :class:`IterableDataset`; one with ``batch(indices)`` is
    asked for whole batches, unless there is a `collate_fn`. ``batch_size=None`` gives single examples. The order, and
    the seeds of the workers, come from the generator, or else from the CPU's.

    With `num_workers`, that many processes make the batches, `prefetch_factor` of them ahead, and they come in the same
    order as without. An error of a worker is raised here, with the worker's traceback as its cause. Workers are forked,
    unless `multiprocessing_context` is "spawn" or "forkserver", so they can use host tensors, but no device that is
    open already. ``persistent_workers`` stay from one epoch to the next.

    ``pin_memory`` puts the batches into memory from which `pin_memory_device` can copy while the host goes on.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: _random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: Any = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size must be positive, or None; found {batch_size}")
        self.dataset, self.batch_size, self.drop_last, self.generator = dataset, batch_size, drop_last, generator
        self.collate_fn, self.timeout, self.worker_init_fn = collate_fn, timeout, worker_init_fn
        self.num_workers, self.persistent_workers = num_workers, persistent_workers
        self.prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        self.multiprocessing_context = multiprocessing_context
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self._iterable = isinstance(dataset, IterableDataset)
        self._check_workers(prefetch_factor)
        self._check_samplers(shuffle, sampler, batch_sampler)
        self.shuffle = bool(shuffle)
        self._choose_samplers(sampler, batch_sampler)
        self._pool: Pool | None = None

    def _check_workers(self, prefetch_factor: int | None) -> None:
        if self.num_workers < 0 or self.timeout < 0:
            raise ValueError(f"num_workers, timeout may not be negative; found {self.num_workers}, {self.timeout}")
        if not 1 <= self.prefetch_factor <= _MOST_AHEAD:
            raise ValueError(f"prefetch_factor must be from 1 to {_MOST_AHEAD}; found {self.prefetch_factor}")
        if self.num_workers == 0 and (self.persistent_workers or prefetch_factor is not None or self.timeout):
            raise ValueError("persistent_workers, prefetch_factor and timeout are for num_workers of 1 or more")

    def _check_samplers(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset has an order of its own: shuffle and samplers do not go with it")
        if shuffle and (sampler is not None or batch_sampler is not None):
            raise ValueError("shuffle does not go with a sampler, which has an order of its own")
        if batch_sampler is not None and (self.batch_size != 1 or sampler is not None or self.drop_last):
            raise ValueError("batch_size, sampler and drop_last do not go with batch_sampler")
        if self.batch_size is None and self.drop_last:
            raise ValueError("drop_last is for batches; batch_size is None")

    def _choose_samplers(self, sampler: Any, batch_sampler: Any) -> None:
        self._batched = batch_sampler is not None or self.batch_size is not None
        if batch_sampler is not None:
            self.batch_size = None
        if sampler is None and not self._iterable:
            sampler = RandomSampler(self.dataset, generator=self.generator) if self.shuffle else None
            sampler = SequentialSampler(self.dataset) if sampler is None else sampler
        if batch_sampler is None and self.batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, self.batch_size, self.drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler

    def __len__(self) -> int:
        """Batches an epoch; of a stream as many as its own length, if it has one, says."""
        if not self._iterable:
            return len(self.batch_sampler if self._batched else self.sampler)
        if self.batch_size is None:
            return len(self.dataset)
        return (math.floor if self.drop_last else math.ceil)(len(self.dataset) / self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        seed = int(_creation.rand(1, dtype=_core.float64, device="cpu:0", generator=self.generator).item() * 2**53)
        return map(self._pinned, self._batches(seed)) if self.pin_memory else self._batches(seed)

    def _batches(self, seed: int) -> Iterator[Any]:
        indices = itertools.repeat(None) if self._iterable else self.batch_sampler if self._batched else self.sampler
        if self.num_workers == 0:
            return self._fetch().batches(self.dataset, indices)
        return self._in_workers(indices, seed)

    def _fetch(self) -> Fetch:
        return Fetch(self.collate_fn, self._batched, self._iterable, self.batch_size, self.drop_last)

    def _in_workers(self, indices: Any, seed: int) -> Iterator[Any]:
        pool = self._pool or self._started()
        try:
            yield from ordered_batches(pool, indices, seed, self.prefetch_factor, self.timeout or None)
        except WorkerError:
            self._pool = None
            pool.close()
            raise
        finally:
            if not self.persistent_workers:
                pool.close()

    def _started(self) -> Pool:
        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context or "fork")
        pool = Pool(self.dataset, self._fetch(), self.num_workers, self.worker_init_fn, context)
        if self.persistent_workers:
            self._pool = pool
            weakref.finalize(self, pool.close)
        return pool

    def _pinned(self, batch: Any) -> Any:
        return mapped_tensors(lambda tensor: tensor.pin_memory(self.pin_memory_device), batch)
