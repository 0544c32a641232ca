"""Examples into batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _creation, _functions
from .._core import Tensor


def default_collate(examples: Sequence[Any]) -> Any:
    """A batch of examples: tensors stacked, numbers as a tensor, tuples, lists and dicts field by field."""
    first = examples[0]
    if isinstance(first, Tensor):
        return _functions.stack(list(examples))
    if _is_array(first):
        return _creation.tensor(sys.modules["numpy"].stack(list(examples)))
    if isinstance(first, Mapping):
        return {key: default_collate([example[key] for example in examples]) for key in first}
    if isinstance(first, (tuple, list)):
        sizes = {len(example) for example in examples}
        if len(sizes) > 1:
            raise ValueError(f"default_collate: the examples have different numbers of fields: {sorted(sizes)}")
        return _like(first, [default_collate(list(fields)) for fields in zip(*examples, strict=True)])
    if isinstance(first, (str, bytes)):
        return list(examples)
    return _creation.tensor(list(examples))


def default_convert(example: Any) -> Any:
    """The example with its NumPy arrays as tensors."""
    return mapped(lambda value: _creation.tensor(value) if _is_array(value) else value, example)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The function of each leaf of nested tuples, lists and dicts."""
    if isinstance(value, Mapping):
        return {key: mapped(function, item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return _like(value, [mapped(function, item) for item in value])
    return function(value)


def mapped_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    return mapped(lambda leaf: function(leaf) if isinstance(leaf, Tensor) else leaf, value)


def _like(sequence: Any, items: list[Any]) -> Any:
    return type(sequence)(*items) if hasattr(sequence, "_fields") else type(sequence)(items)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")  # without it there are no arrays
    return numpy is not None and isinstance(value, numpy.ndarray)
