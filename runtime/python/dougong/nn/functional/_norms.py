"""Softmax and normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core
from ..._core import Tensor

_ops = _core.ops
_Size = int | Sequence[int]


def softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.softmax(input if dtype is None else input.to(dtype=dtype), dim)


def log_softmax(input: Tensor, dim: int = -1, dtype: _core.dtype | None = None) -> Tensor:
    return _ops.log_softmax(input if dtype is None else input.to(dtype=dtype), dim)


def layer_norm(
    input: Tensor,
    normalized_shape: _Size,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise _core.InvalidArgumentError(
            f"layer_norm: the last axes of input must be {shape}; found input {input.shape}"
        )
    return _ops.layer_norm(input, weight, bias, len(shape), eps)
