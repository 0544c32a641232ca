"""What the core asks for when an index, or what is written to one, is neither a tensor nor a number."""

from __future__ import annotations

from typing import Any

from . import _core, _creation
from ._core import Tensor


def as_index(part: Any, device: Any) -> Tensor:
    """A list, array or bool as a tensor of indices or a mask. Raises IndexError for anything else."""
    import numpy as np

    if not isinstance(part, (bool, list, tuple, np.ndarray, np.generic)):
        raise IndexError(
            f"an index holds integers, slices, None, Ellipsis, and tensors or lists of integers or bools; "
            f"found {type(part).__name__}"
        )
    array = np.asarray(_creation._nested(part))
    if array.size == 0 and isinstance(part, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise IndexError(f"an index holds integers or bools; found elements of {array.dtype}")
    return _creation.tensor(array, device=device, dtype=_core.int64 if array.dtype.kind == "u" else None)


def as_value(value: Any, device: Any) -> Tensor:
    """A list or array that is written to elements."""
    if not isinstance(value, (list, tuple)) and not hasattr(value, "__array__"):
        raise TypeError(
            f"a tensor, an array, a list or a number can be written to elements; found {type(value).__name__}"
        )
    return _creation.tensor(value, device=device)
