"""Batches of examples, made in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _core, _creation, _functions, _random
from ._core import Tensor


class TensorDataset:
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


def default_collate(examples: Sequence[Any]) -> Any:
    """A batch of examples: tensors stacked, numbers as a tensor, tuples, lists and dicts field by field."""
    first = examples[0]
    if isinstance(first, Tensor):
        return _functions.stack(list(examples))
    if isinstance(first, dict):
        return {key: default_collate([example[key] for example in examples]) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)(default_collate(list(fields)) for fields in zip(*examples, strict=True))
    if isinstance(first, (str, bytes)):
        return list(examples)
    return _creation.tensor(list(examples))


class DataLoader:
    """Goes over a dataset in batches, in another random order each time if `shuffle` is set.

    The dataset has ``__len__`` and ``__getitem__``; one with ``batch(indices)`` is asked for whole batches. The order
    comes from the generator, or else from the CPU's.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Sequence[Any]], Any] | None = None,
        generator: _random.Generator | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be positive; found {batch_size}")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.collate_fn, self.generator = collate_fn, generator

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        order = self._random_order(count) if self.shuffle else list(range(count))
        for i in range(len(self)):
            yield self._batch(order[i * self.batch_size : (i + 1) * self.batch_size])

    def _random_order(self, count: int) -> list[int]:
        return _creation.randperm(count, device="cpu:0", generator=self.generator).tolist()

    def _batch(self, indices: list[int]) -> Any:
        if self.collate_fn is None and hasattr(self.dataset, "batch"):
            return self.dataset.batch(indices)
        return (self.collate_fn or default_collate)([self.dataset[i] for i in indices])
